"""A real headless browser for tests of pages."""

import shutil
import tempfile
from contextlib import contextmanager

BROWSER, DRIVER = "chromium", "chromedriver"


def missing():
    """Return why there is no browser; nothing where there is one."""
    absent = [name for name in (BROWSER, DRIVER) if shutil.which(name) is None]
    names = " and ".join(absent)
    return f"{names}: not installed (Debian: chromium, chromium-driver)" if absent else ""


@contextmanager
def browser():
    """Yield a browser that reaches for nothing but what it is given."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which(BROWSER)
    with tempfile.TemporaryDirectory() as profile:
        for flag in (
            "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run",
            "disable-background-networking", "disable-component-update", "disable-sync",
            "disable-dev-shm-usage", "hide-scrollbars", f"user-data-dir={profile}",
        ):  # fmt: skip
            options.add_argument(f"--{flag}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = webdriver.ChromeService(executable_path=shutil.which(DRIVER))
        driver = webdriver.Chrome(options=options, service=service)
        try:
            yield driver
        finally:
            driver.quit()


def resize(driver, width, height=800):
    """Give the page's view a size in pixels, as a device of that size has."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def screenshot(driver, path):
    """Write a picture of the whole page."""
    import base64

    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
    path.write_bytes(base64.b64decode(shot["data"]))
