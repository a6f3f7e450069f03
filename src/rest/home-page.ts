import { brandTitle } from '../kit/brand-title.ts';
import { isOnSale } from '../operations/is-on-sale.ts';
import type { Operation, Services } from '../operations/operation.ts';
import { html, prose } from './docs/docs-page-html.ts';
import { pageShell } from './page-shell.ts';

/** Makes the answer of `/`: the service, the addresses of its parts, the use of a key, and the prices of paid calls. */
export const homePage = (operations: readonly Operation[], services: Services) => {
  const { config, publicUrl } = services;
  const brand = brandTitle(config);
  const url = publicUrl();
  const paid = operations.flatMap(({ name, title, description, rest, sale }) =>
    sale?.x402 !== undefined && isOnSale(sale.x402, services)
      ? [{ name, title, description, rest, sale: sale.x402 }]
      : [],
  );
  const goods = paid.map(({ sale }) => sale.description.replace(/^./, (first) => first.toLowerCase()));
  const summary =
    'Generation of images, video and text with an API key' +
    (paid.length === 0
      ? '.'
      : `, and ${new Intl.ListFormat('en').format(goods)} that ${goods.length === 1 ? 'is' : 'are'} paid for each request, without an account.`);
  const sections = [
    {
      title: 'Assistants (MCP)',
      text:
        `Connect to \`${url}/mcp\` (Streamable HTTP). ` +
        (paid.length === 0
          ? 'Every tool needs an API key.'
          : `Without an API key it offers ${paid.map(({ name }) => `\`${name}\``).join(', ')}; with one, the generation tools too.`),
    },
    {
      title: 'API key',
      text:
        'Send it in the header `Authorization: Bearer <API_KEY>`, over MCP and REST. ' +
        'The operator of this service issues keys.',
    },
    {
      title: 'Programs (REST)',
      text: `OpenAI's clients take \`${url}/v1\` as their base URL. \`GET ${url}/v1/models\` lists models and prices.`,
    },
    ...paid.map(({ title, description, rest, sale }) => ({
      title,
      text:
        `\`${rest.method} ${url}${rest.path}\`\n\n${description}` +
        (sale.isSandbox(services, null) ? `\n\n**${sale.sandbox.notice}**` : ''),
    })),
    {
      title: 'Documentation',
      text: `\`${url}/docs\` to read, \`${url}/openapi.json\` for tools.`,
    },
  ];
  return {
    /** Markdown for programs. */
    text: [`# ${brand}`, summary, ...sections.flatMap(({ title, text }) => [`## ${title}`, text]), ''].join(
      '\n\n',
    ),
    /** HTML for people. */
    page: pageShell({
      title: brand,
      style: 'docs/style.css',
      body: html`<body class="single">
        <main>
          <header>
            <h1>${brand}</h1>
            <p class="lead">${summary}</p>
          </header>
          ${sections.map(
            ({ title, text }) =>
              html`<section>
                <h2>${title}</h2>
                ${prose(text)}
              </section>`,
          )}
          <footer>
            <p><a href="docs">Documentation</a> · <a href="openapi.json">openapi.json</a></p>
          </footer>
        </main>
      </body>`,
    }),
  };
};
