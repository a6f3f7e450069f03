import { brandTitle } from '../kit/brand-title.ts';
import { isOnSale } from '../operations/is-on-sale.ts';
import type { Operation, Services } from '../operations/operation.ts';
import { html, prose } from './docs/docs-page-html.ts';
import { pageShell } from './page-shell.ts';

export interface HomePage {
  /** For people at a browser. */
  page: string;
  /** The same for programs, in Markdown. */
  text: string;
}

/** Makes the answer of the root address: what this service is, where its parts are, where a key goes and what paid calls cost. */
export const homePage = (operations: readonly Operation[], services: Services): HomePage => {
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
        'It goes into the header `Authorization: Bearer <API_KEY>`, over MCP and REST alike. ' +
        'The operator of this service issues keys.',
    },
    {
      title: 'Programs (REST)',
      text: `OpenAI's clients take \`${url}/v1\` as their base URL. \`GET ${url}/v1/models\` tells models and prices.`,
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
    text: [`# ${brand}`, summary, ...sections.flatMap(({ title, text }) => [`## ${title}`, text]), ''].join(
      '\n\n',
    ),
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
