"""A small server of completions and chat completions, as OpenAI's, over a model of transformers."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch


class Completer:
    """Completes greedily and gives log-probabilities; `requests` counts what was asked."""

    def __init__(self, model, tokenizer):
        self.model, self.tokenizer = model.eval(), tokenizer
        self.requests = []

    def answer(self, path, body):
        self.requests.append((path, body))
        if path == "/v1/chat/completions":
            prompt = self.tokenizer.apply_chat_template(
                body["messages"], add_generation_prompt=True, return_dict=False
            )
            message = {"role": "assistant", "content": self.generate(prompt, body)}
            return {"choices": [{"index": 0, "message": message}]}
        if path != "/v1/completions":
            raise LookupError(path)
        prompts = body["prompt"]
        if isinstance(prompts, str) or isinstance(prompts[0], int):
            prompts = [prompts]
        complete = self.score if body.get("echo") else self.text
        return {"choices": [{"index": i, **complete(p, body)} for i, p in enumerate(prompts)]}

    def text(self, prompt, body):
        return {"text": self.generate(self.tokens(prompt), body)}

    def tokens(self, prompt):
        return self.tokenizer(prompt)["input_ids"] if isinstance(prompt, str) else prompt

    @torch.no_grad()
    def generate(self, tokens, body):
        """Return the completion up to the first stop string, without it."""
        asked = torch.tensor([tokens])
        out = self.model.generate(
            asked, attention_mask=torch.ones_like(asked), do_sample=False,
            max_new_tokens=body["max_tokens"], pad_token_id=self.tokenizer.eos_token_id,
        )  # fmt: skip
        text = self.tokenizer.decode(out[0, len(tokens) :], skip_special_tokens=True)
        for stop in [body.get("stop") or []] if isinstance(body.get("stop"), str) else body["stop"]:
            text = text.split(stop)[0]
        return text

    @torch.no_grad()
    def score(self, prompt, body):
        """Return the prompt's tokens and one more, each with its own and the greatest log-prob."""
        tokens = self.tokens(prompt)
        logits = self.model(torch.tensor([tokens])).logits[0]
        logs = torch.log_softmax(logits.float(), dim=-1)
        best = logs.max(dim=-1)
        tokens = [*tokens, int(best.indices[-1])]
        own = [None, *(float(logs[i, token]) for i, token in enumerate(tokens[1:]))]
        top = [None, *({"best": float(value)} for value in best.values)]
        return {"text": "", "logprobs": {"token_logprobs": own, "top_logprobs": top}}


@contextmanager
def serve(completer):
    """Yield the address of a running server on the loopback interface."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.reply(200, completer.answer(self.path, body))

        def do_GET(self):
            self.reply(404, {})

        def reply(self, status, content):
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
