import { toPricing } from '../accounts/catalog/model.ts';
import type { Json } from '../kit/json.ts';
import { nameAll, priceInWords, rangeInWords, type ServiceDescription } from './describe-service.ts';
import { html, prose } from './docs/docs-page-html.ts';
import { pageShell } from './page-shell.ts';
import { walletGuide } from './wallet-guide.ts';

interface Section {
  title: string;
  /** Markdown: paragraphs, lists, code and bold. */
  text: string;
}

interface Link {
  name: string;
  /** Below the address of the service. */
  path: string;
  note: string;
}

/** Makes the answers of `/`, from one description of the service. */
export const homePage = (service: ServiceDescription) => ({
  /** Markdown for programs; also `/llms.txt` (llmstxt.org). */
  markdown: toMarkdown(service),
  /** HTML for people. */
  page: toPage(service),
  json: JSON.stringify(toJson(service)),
});

const toMarkdown = (service: ServiceDescription): string => {
  const { title, summary, url } = service;
  return [
    `# ${title}`,
    `> ${summary}`,
    ...introduction(service).map((section) => `**${section.title}.** ${section.text}`),
    ...[...lists(service), ...walletGuide(service)].flatMap(({ title: name, text }) => [`## ${name}`, text]),
    '## Documents',
    links(service)
      .map(({ name, path, note }) => `- [${name}](${url}/${path}): ${note}`)
      .join('\n'),
    '',
  ].join('\n\n');
};

const toPage = (service: ServiceDescription): string =>
  pageShell({
    title: service.title,
    style: 'docs/style.css',
    body: html`<body class="single">
      <main>
        <header>
          <h1>${service.title}</h1>
          <p class="lead">${service.summary}</p>
        </header>
        ${[...introduction(service), ...lists(service)].map(
          ({ title, text }) =>
            html`<section>
              <h2>${title}</h2>
              ${prose(text)}
            </section>`,
        )}
        <section>
          <h2>Documents</h2>
          <ul>
            ${links(service).map(({ name, path, note }) => html`<li><a href="${path}">${name}</a>: ${note}</li>`)}
          </ul>
        </section>
      </main>
    </body>`,
  });

const introduction = ({ url, goods, networks, signIn }: ServiceDescription): Section[] => {
  const keyless = goods.filter(({ isTool }) => isTool).map(({ name }) => `\`${name}\``);
  return [
    {
      title: 'Assistants (MCP)',
      text:
        `Connect to \`${url}/mcp\` (Streamable HTTP). ` +
        (keyless.length === 0
          ? 'Every tool needs an API key.'
          : `Without an API key it offers ${keyless.join(', ')}; with one, ${signIn === null ? 'the generation tools' : 'the tools of an account'} too.`),
    },
    {
      title: 'Programs (REST)',
      text: `OpenAI's clients take \`${url}/v1\` as their base URL. With a key, \`GET ${url}/v1/models\` lists its models and prices.`,
    },
    {
      title: 'API key',
      text:
        'Send it in the header `Authorization: Bearer <API_KEY>`, over MCP and REST. ' +
        'The operator of this service issues keys.' +
        (signIn === null
          ? ''
          : ` A wallet gets one when it signs in: \`${signIn.method} ${url}${signIn.path}\`.`),
    },
    {
      title: 'To pay for a call',
      text:
        goods.length === 0
          ? ''
          : 'Call without a payment. The answer is 402 with the terms: in the header `PAYMENT-REQUIRED` and the body, ' +
            'over MCP in the tool error. An x402 client signs one of them and calls again with the proof in ' +
            '`PAYMENT-SIGNATURE`, over MCP in `_meta["x402/payment"]`. ' +
            (networks.length === 0
              ? '**No payment network can be reached now, so nothing can be paid for.** Try again later.'
              : `USDC is taken on ${nameAll(networks.map(({ label, isTest }) => (isTest ? `${label} (test money)` : label)))}. No account is needed.`),
    },
    {
      title: 'Wallets',
      text:
        signIn === null
          ? ''
          : 'A wallet has an account, made by its first payment. What a call does not use of its payment is balance of ' +
            `that account. \`POST ${url}/v1/topup\` raises a balance. Usual x402 clients pay at most $1 at once.`,
    },
  ].filter(({ text }) => text !== '');
};

/** Lists of what is sold, and of what is free. */
const lists = (service: ServiceDescription): Section[] => {
  const { goods, free, models, isSandbox } = service;
  const notices = new Set(goods.flatMap(({ notice }) => notice ?? []));
  return [
    {
      title: 'Paid for each call (x402)',
      text: goods
        .map((good) => item(good, `${rangeInWords(good)}. ${good.summary} ${exampleInWords(good)}`))
        .join('\n'),
      notes: [...notices],
    },
    {
      title: 'Free, without a key',
      text: free.map((one) => item(one, one.summary)).join('\n'),
      notes: [],
    },
    {
      title: 'Models',
      text: models.map(({ sku, kind, price }) => `- \`${sku}\`: ${kind}, ${priceInWords(price)}`).join('\n'),
      notes: isSandbox ? ['A sandbox makes the answers of these models.'] : [],
    },
  ]
    .filter(({ text }) => text !== '')
    .map(({ title, text, notes }) => ({
      title,
      text: [text, ...notes.map((note) => `**${note}**`)].join('\n\n'),
    }));
};

const item = ({ title, method, url }: { title: string; method: string; url: string }, note: string): string =>
  `- **${title}** (\`${method} ${url}\`): ${note}`;

const exampleInWords = ({ method, example }: ServiceDescription['goods'][number]): string =>
  `${method === 'GET' ? 'Query' : 'Body'}: \`${JSON.stringify(example)}\``;

const links = ({ goods }: ServiceDescription): Link[] => [
  { name: 'Reference', path: 'docs', note: 'all operations, to read' },
  { name: 'Interface description', path: 'openapi.json', note: 'OpenAPI 3.1' },
  { name: 'MCP server', path: '.well-known/mcp/server.json', note: 'as the MCP registry describes servers' },
  ...(goods.length === 0
    ? []
    : [
        {
          name: 'x402 manifest',
          path: '.well-known/x402',
          note: 'what is sold by x402, with terms and schemas',
        },
      ]),
  { name: 'llms.txt', path: 'llms.txt', note: 'this page for language models' },
];

const toJson = (service: ServiceDescription): Json => {
  const { title, summary, url, goods, free, models, networks, isSandbox } = service;
  const callable = ({ name, title: shown, method, url: address, isTool }: (typeof free)[number]) => ({
    name,
    title: shown,
    method,
    url: address,
    ...(isTool ? { tool: name } : {}),
  });
  return {
    name: title,
    description: summary,
    url,
    mcp: { url: `${url}/mcp`, transport: 'streamable-http' },
    rest: { base_url: `${url}/v1` },
    api_key: { header: 'Authorization: Bearer <API_KEY>' },
    x402: { networks: networks.map(({ network, label, isTest }) => ({ network, label, is_test: isTest })) },
    paid_per_call: goods.map((good) => ({
      ...callable(good),
      price: { currency: 'USD', ...good.price },
      ...(good.notice === null ? {} : { notice: good.notice }),
    })),
    free: free.map(callable),
    models: models.map(({ sku, kind, price }) => ({ id: sku, kind, pricing: toPricing(price) })),
    ...(isSandbox ? { models_notice: 'A sandbox makes the answers of these models.' } : {}),
    documents: links(service).map(({ name, path }) => ({ name, url: `${url}/${path}` })),
  };
};
