import { html, type Html } from '../docs/docs-page-html.ts';
import { pageShell } from '../page-shell.ts';

/** Makes a page with one text. `style`: the address of the style sheet. `after`: what there is to do; by default nothing. */
export const endPage = (
  { service, style }: { service: string; style: string },
  { title, text, after = null }: { title: string; text: string; after?: Html | null },
): string =>
  pageShell({
    title: `${service}: ${title}`,
    style,
    body: html`<body class="single">
      <main>
        <h1>${title}</h1>
        <p>${text}</p>
        ${after}
      </main>
    </body>`,
  });
