// The user agents of programs that fetch links and pictures without a person, and of mail services that fetch pictures for a person.

/** Parts of the user agents of tools, crawlers, link previews and mail scanners. Extend it when a new one is seen. */
export const MACHINE_AGENTS: readonly RegExp[] = [
  // Libraries and tools.
  /^(curl|wget|httpie|java|ruby|perl|php|lua|python|node|deno|bun|dart|rust|axios|undici|got|okhttp|reqwest)\b/i,
  /python-(requests|urllib|httpx)|aiohttp|go-http-client|apache-httpclient|libwww-perl|node-fetch|guzzlehttp|restsharp/i,
  /postmanruntime|powershell|winhttp|microsoft url control|libcurl/i,
  // Browsers without a window.
  /headless|phantomjs|puppeteer|playwright|selenium|webdriver/i,
  // Crawlers and previews. "Cubot" is a maker of phones.
  /(?<!cu)bot\b|crawl|spider|slurp|scrapy|preview|facebookexternalhit|whatsapp|embedly|skypeuri|validator|monitor\b/i,
  // Scanners of mail.
  /barracuda|proofpoint|mimecast|safelinks|urldefense|fireeye|trendmicro|symantec|forcepoint|sophos|virustotal|scanner/i,
]

/** Parts of the user agents with which mail services fetch the pictures of a message, often before anybody opens it. */
export const PROXY_AGENTS: readonly RegExp[] = [
  // Gmail.
  /GoogleImageProxy/i,
  // Yahoo and AOL.
  /YahooMailProxy|YahooCacheSystem/i,
  // Outlook, Seznam, Mail.ru and others name themselves so.
  /(image|mail|email)-?proxy/i,
  // Yandex.
  /YandexImageResizer/i,
  // Mail Privacy Protection of Apple sends nothing more.
  /^Mozilla\/5\.0$/,
]
