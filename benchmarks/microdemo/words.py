"""Word lists that the question templates of the demo benchmark draw from."""

WORDS: str = (
    "alligator aluminum ant apple armchair axe banana basalt bee beer beetle bicycle birch "
    "bookcase broccoli bus butterfly cabbage car carp carrot cedar celery cello cherry chisel "
    "cobra cod coffee copper cotton cricket crocodile crow cupboard daffodil daisy denim desk "
    "drill drum duck eagle elm flute gold goose granite grape guitar hammer herring iguana iron "
    "juice lemon lemonade lettuce lily limestone linen lizard mango maple marble milk mosquito "
    "moth motorcycle nickel oak onion orange orchid owl parrot peach pear piano pigeon pine "
    "pliers plum potato python robin rose salmon sandstone sardine saw screwdriver shark shovel "
    "silk silver slate sofa sparrow spinach spruce stool sunflower swan table tea tin tortoise "
    "tractor trout truck trumpet tulip tuna turtle van velvet violet violin wardrobe wasp "
    "willow wine wool wrench zinc"
)

OPPOSITES: str = (
    "hot-cold big-small tall-short fast-slow light-dark old-young rich-poor happy-sad "
    "hard-soft wet-dry full-empty open-closed early-late strong-weak clean-dirty loud-quiet "
    "thick-thin wide-narrow deep-shallow sharp-blunt sweet-bitter smooth-rough brave-afraid "
    "cheap-expensive near-far high-low inside-outside above-below before-after first-last "
    "always-never begin-end win-lose buy-sell push-pull laugh-cry give-take love-hate "
    "remember-forget arrive-leave friend-enemy day-night summer-winter north-south east-west "
    "left-right up-down top-bottom front-back true-false right-wrong good-bad more-less "
    "success-failure war-peace truth-lie question-answer safe-dangerous easy-difficult "
    "simple-complex public-private ancient-modern guilty-innocent increase-decrease "
    "accept-reject build-destroy appear-disappear"
)

CAPITALS: dict[str, str] = {
    "France": "Paris", "Germany": "Berlin", "Italy": "Rome", "Spain": "Madrid",
    "Portugal": "Lisbon", "Greece": "Athens", "Austria": "Vienna", "Hungary": "Budapest",
    "Poland": "Warsaw", "Sweden": "Stockholm", "Norway": "Oslo", "Denmark": "Copenhagen",
    "Finland": "Helsinki", "Iceland": "Reykjavik", "Ireland": "Dublin", "Belgium": "Brussels",
    "Slovakia": "Bratislava", "Slovenia": "Ljubljana", "Croatia": "Zagreb", "Serbia": "Belgrade",
    "Bulgaria": "Sofia", "Romania": "Bucharest", "Ukraine": "Kyiv", "Russia": "Moscow",
    "Belarus": "Minsk", "Latvia": "Riga", "Lithuania": "Vilnius", "Estonia": "Tallinn",
    "Albania": "Tirana", "Malta": "Valletta", "Cyprus": "Nicosia", "Turkey": "Ankara",
    "Georgia": "Tbilisi", "Armenia": "Yerevan", "Azerbaijan": "Baku", "Iran": "Tehran",
    "Iraq": "Baghdad", "Syria": "Damascus", "Lebanon": "Beirut", "Jordan": "Amman",
    "Qatar": "Doha", "Oman": "Muscat", "Yemen": "Sanaa", "Kazakhstan": "Astana",
    "Afghanistan": "Kabul", "Pakistan": "Islamabad", "Nepal": "Kathmandu", "Bangladesh": "Dhaka",
    "Thailand": "Bangkok", "Vietnam": "Hanoi", "Laos": "Vientiane", "Malaysia": "Kuala Lumpur",
    "Indonesia": "Jakarta", "Philippines": "Manila", "China": "Beijing", "Japan": "Tokyo",
    "Mongolia": "Ulaanbaatar", "Taiwan": "Taipei", "Uzbekistan": "Tashkent",
    "Australia": "Canberra", "Fiji": "Suva", "Egypt": "Cairo", "Libya": "Tripoli",
    "Eritrea": "Asmara", "Tunisia": "Tunis", "Algeria": "Algiers", "Morocco": "Rabat",
    "Sudan": "Khartoum", "Ethiopia": "Addis Ababa", "Kenya": "Nairobi", "Uganda": "Kampala",
    "Rwanda": "Kigali", "Zambia": "Lusaka", "Malawi": "Lilongwe", "Botswana": "Gaborone",
    "Zimbabwe": "Harare", "Namibia": "Windhoek", "Angola": "Luanda", "Ghana": "Accra",
    "Cameroon": "Yaounde", "Nigeria": "Abuja", "Senegal": "Dakar", "Mali": "Bamako",
    "Niger": "Niamey", "Somalia": "Mogadishu", "Madagascar": "Antananarivo",
    "Mozambique": "Maputo", "Liberia": "Monrovia", "Canada": "Ottawa", "Mexico": "Mexico City",
    "Cuba": "Havana", "Barbados": "Bridgetown", "Jamaica": "Kingston", "Haiti": "Port-au-Prince",
    "Honduras": "Tegucigalpa", "Nicaragua": "Managua", "Colombia": "Bogota",
    "Venezuela": "Caracas", "Ecuador": "Quito", "Peru": "Lima", "Chile": "Santiago",
    "Argentina": "Buenos Aires", "Uruguay": "Montevideo", "Paraguay": "Asuncion",
    "Bolivia": "La Paz", "Brazil": "Brasilia",
}  # fmt: skip

NAMES: str = "Anna Ben Clara David Emma Frank Grace Henry Kate Leo Maria Nick Paul Rosa Sam Tom"

OBJECTS: str = (
    "key cup hat book pen ball lamp coin map box bag ring bell rope clock knife "
    "chair plate spoon brush flag kite stone candle"
)

COLORS: str = "red blue green yellow black white brown pink gray purple orange"
