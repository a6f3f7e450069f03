import { toPricing } from '../accounts/catalog/model.ts';
import type { Json } from '../kit/json.ts';
import { nameAll, priceInWords, rangeInWords, type ServiceDescription } from './describe-service.ts';
import { curlCommand } from './docs/curl-command.ts';
import { html, prose } from './docs/docs-page-html.ts';
import { iconPath } from '../kit/icon.ts';
import { installGuide } from './mcp-page.ts';
import { pageShell } from './page-shell.ts';
import { priceTable } from './price-table.ts';
import { toSignedText } from '../payments/sale/gate.ts';

interface Section {
  title: string;
  /** Markdown: paragraphs, lists, code and bold. */
  text: string;
  /** Code to copy, on the page alone. */
  example?: string | null;
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

const toPage = (service: ServiceDescription): string => {
  const notices = noticesOf(service).join(' ');
  return pageShell({
    title: service.title,
    style: 'docs/style.css',
    icon: iconPath.slice(1),
    body: html`<body class="single wide">
      <main>
        <header>
          <h1>${service.title}</h1>
          <p class="lead">${service.summary}</p>
          <ul class="links">
            ${[...doors(service), ...links(service)].map(
              ({ name, path, note }) => html`<li><a href="${path}" title="${note}">${name}</a></li>`,
            )}
          </ul>
        </header>
        <section>
          <h2>What is sold</h2>
          ${priceTable(service)} ${notices === '' ? null : html`<p class="notice">${notices}</p>`}
        </section>
        ${installGuide(service)}
        ${introduction(service).map(
          ({ title, text, example }) =>
            html`<section>
              <h2>${title}</h2>
              ${prose(text)} ${example ? html`<pre tabindex="0"><code>${example}</code></pre>` : null}
            </section>`,
        )}
      </main>
    </body>`,
  });
};

const introduction = (service: ServiceDescription): Section[] => {
  const { url, goods, networks, signIn } = service;
  const keyless = goods.filter(({ isTool }) => isTool).map(({ name }) => `\`${name}\``);
  return [
    {
      title: 'Assistants (MCP)',
      text:
        `Connect to \`${url}/mcp\` (Streamable HTTP). ` +
        (keyless.length === 0
          ? 'Every tool needs an API key.'
          : `Without an API key it offers ${keyless.join(', ')}; with one, ${signIn === null ? 'the generation tools' : 'the tools of an account'} too.`) +
        ` A person signs in from an assistant at \`${url}/mcp/account\`.`,
    },
    {
      title: 'Programs (REST)',
      text: `OpenAI's clients take \`${url}/v1\` as their base URL. With a key, \`GET ${url}/v1/models\` lists its models and prices.`,
      example: programExample(service),
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
      example: walletExample(service),
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

/** A call with a key. */
const programExample = ({ url, offers }: ServiceDescription): string => {
  const offer = offers.find(({ takesKey, models }) => takesKey && models.length > 0);
  return curlCommand(
    offer === undefined
      ? { method: 'GET', url: `${url}/v1/models`, hasKey: true }
      : { method: offer.method, url: offer.url, hasKey: true, body: offer.example },
  );
};

/** A call that a program with a wallet of an EVM network pays for; null: other networks alone are taken. */
const walletExample = ({ goods }: ServiceDescription): string | null => {
  const good = goods.find(
    // No terms: no network can be reached now.
    ({ accepts }) => accepts.length === 0 || accepts.some(({ network }) => network.startsWith('eip155:')),
  );
  if (good === undefined) return null;
  const { method, url, example } = good;
  const query = Object.entries(example).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  const call =
    method === 'GET'
      ? `'${url}?${new URLSearchParams(query).toString()}'`
      : `'${url}', {
  method: '${method}',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(${JSON.stringify(example)}),
}`;
  return `import { wrapFetchWithPaymentFromConfig } from '@x402/fetch';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { privateKeyToAccount } from 'viem/accounts';

const wallet = privateKeyToAccount(process.env.WALLET_KEY);
const payingFetch = wrapFetchWithPaymentFromConfig(fetch, {
  schemes: [{ network: 'eip155:*', client: new ExactEvmScheme(wallet) }],
});
const response = await payingFetch(${call});
console.log(await response.json());`;
};

const sandboxNotice = 'A sandbox makes the answers of these models.';

/** Tells of made-up answers. */
const noticesOf = ({ goods, isSandbox }: ServiceDescription): string[] => [
  ...new Set(goods.flatMap(({ notice }) => notice ?? [])),
  ...(isSandbox ? [sandboxNotice] : []),
];

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
      notes: isSandbox ? [sandboxNotice] : [],
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

/** The pages where people begin. */
const doors = ({ hasConsole }: ServiceDescription): Link[] => [
  ...(hasConsole ? [{ name: 'Console', path: 'console', note: 'to sign in with a key' }] : []),
  { name: 'MCP', path: 'mcp', note: 'to add this server to an assistant' },
];

const links = ({ goods }: ServiceDescription): Link[] => [
  { name: 'Reference', path: 'docs', note: 'all operations, to read' },
  { name: 'OpenAPI', path: 'openapi.json', note: 'the interface description, in OpenAPI 3.1' },
  { name: 'llms.txt', path: 'llms.txt', note: 'this page for language models' },
  {
    name: 'MCP registry entry',
    path: '.well-known/mcp/server.json',
    note: 'as the MCP registry describes servers',
  },
  ...(goods.length === 0
    ? []
    : [
        {
          name: 'x402 manifest',
          path: '.well-known/x402',
          note: 'what is sold by x402, with terms and schemas',
        },
      ]),
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
    ...(isSandbox ? { models_notice: sandboxNotice } : {}),
    documents: links(service).map(({ name, path }) => ({ name, url: `${url}/${path}` })),
  };
};

/** What a wallet signs to sign in, with the names of the fields in braces. */
const messageToSign = toSignedText(
  {
    domain: '{domain}',
    address: '{address}',
    statement: '{statement}',
    uri: '{uri}',
    version: '1',
    chainId: '{the number in chainId}',
    nonce: '{nonce}',
    issuedAt: '{issuedAt}',
    expirationTime: '{expirationTime}',
  },
  { account: 'Ethereum', whenUnstated: [] },
);

/** Says all that a program needs which has a wallet and reads nothing else. Empty: wallets have no accounts here. */
const walletGuide = ({ url, signIn, offers }: ServiceDescription): { title: string; text: string }[] =>
  signIn === null
    ? []
    : [
        {
          title: 'To pay, step by step',
          text: `1. Send a call without a payment. The header \`PAYMENT-REQUIRED\` of the 402 is base64 of JSON: \`{"x402Version": 2, "resource", "accepts": [{"scheme", "network", "asset", "amount", "payTo", "maxTimeoutSeconds", "extra"}]}\`. \`amount\` is in the smallest unit of \`asset\`. \`quote\` in the body says how the price comes about.
2. Sign one of \`accepts\`. \`@x402/fetch\` and other x402 clients do it. By hand, for \`exact\` on \`eip155:*\` without \`extra.assetTransferMethod\`, it is EIP-712: type \`TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)\`, domain \`{name: extra.name, version: extra.version, chainId, verifyingContract: asset}\`, message: \`from\` your wallet, \`to\` payTo, \`value\` amount, \`validAfter\` 0, \`validBefore\` at most maxTimeoutSeconds from now (Unix seconds), \`nonce\` 32 random bytes.
3. Send the same call with the header \`PAYMENT-SIGNATURE\`: base64 of \`{"x402Version": 2, "resource": as it came, "accepted": the terms as they came, "payload": {"signature": "0x…", "authorization": {"from", "to", "value", "validAfter", "validBefore", "nonce"}}}\`, all six as strings. The answer's \`PAYMENT-RESPONSE\` is base64 of the settlement. A search answers \`results\`, a chat \`choices[0].message.content\`, a response \`output\`, an image \`data[0].url\`, a video its \`id\`.

After a lost answer, a 409 \`payment_in_progress\`, a 502 or a 503 send the same call with the same proof again. It is charged once. Do not sign anew.

Chats and responses: send \`max_tokens\` (responses: \`max_output_tokens\`), because the price is that of the longest answer. Without it the price is up to $1. By \`exact\` you pay the price, and the rest becomes balance. \`upto\` (EVM, where offered) takes only what the answer used: sign with \`UptoEvmScheme\` of \`@x402/evm/upto/client\`, made with \`toClientEvmSigner(account, publicClient)\` of \`@x402/evm\`.`,
        },
        {
          title: 'To sign in, free of charge',
          text: `1. \`${signIn.method} ${url}${signIn.path}\` without a body answers 402 with \`extensions["sign-in-with-x"]\` in its body: \`info\`, and \`supportedChains\` with a \`chainId\` and \`type\` each.
2. Sign this text, filled from \`info\`, by \`personal_sign\` (EIP-191). On Solana it says "Solana account" and is signed by ed25519.

\`\`\`
${messageToSign}
\`\`\`

3. Repeat the call with the header \`SIGN-IN-WITH-X\`: base64 of JSON with all fields of \`info\` and \`address\`, \`chainId\`, \`type\` and \`signature\`. The answer has the \`key\`, for a day.`,
        },
        {
          title: 'With a key',
          text: `${offers.some(({ name, takesKey }) => name === 'search_leads' && takesKey) ? 'Searches, chats' : 'Chats'}, responses, images and videos take their price from the balance then, without a payment. These calls are free:

- \`GET ${url}/v1/videos/<ID>\`: ask every 2 s until \`status\` is \`completed\` or \`failed\`. A video answers its \`id\` at once when it is paid for. Then \`GET ${url}/v1/videos/<ID>/content\` is the film, for 23 hours.
- \`GET ${url}/v1/jobs/<ID>\`: an image that was still \`queued\` or \`running\`; its \`data[0].url\` needs no key.
- \`GET ${url}/v1/balance\`: \`balance_usd\`.
- \`GET ${url}/v1/receipts/<ID>\`: a signed receipt, by the \`id\` of an answer or of a purchase.
- \`GET ${url}/v1/purchases\`: what the wallet paid for.`,
        },
      ];
