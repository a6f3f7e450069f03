import { html } from '../docs/docs-page-html.ts';
import { pageShell } from '../page-shell.ts';

/** Makes a page on which there is nothing more to do. `style`: the address of the style sheet. */
export const endPage = (
  { service, style }: { service: string; style: string },
  { title, text }: { title: string; text: string },
): string =>
  pageShell({
    title: `${service}: ${title}`,
    style,
    body: html`<body class="single">
      <main>
        <h1>${title}</h1>
        <p>${text}</p>
      </main>
    </body>`,
  });
