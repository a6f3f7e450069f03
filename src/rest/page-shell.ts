import { createHash } from 'node:crypto';
import { html, type Html } from './docs/docs-page-html.ts';

const policy =
  "default-src 'none'; img-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Headers of pages without script, which need nothing from other origins. Lower case names. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

/** Names a script within a page for the policy, by its exact text. */
export const scriptSource = (script: string): string =>
  `'sha256-${createHash('sha256').update(script).digest('base64')}'`;

/** The policy of a page that runs the script with this source, and may send forms to `formAction`; null: to any address. */
export const policyWith = (source: string | null, formAction: string | null = "'none'"): string =>
  policy.replace(" form-action 'none';", formAction === null ? '' : ` form-action ${formAction};`) +
  (source === null ? '' : `; script-src ${source}`);

export interface PageShell {
  title: string;
  /** The address of `/docs/style.css`, relative to the page. */
  style: string;
  /** The address of the icon, likewise. */
  icon?: string;
  body: Html;
}

/** Makes a whole page from its body. */
export const pageShell = ({ title, style, icon, body }: PageShell): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="stylesheet" href="${style}" />
        ${icon === undefined ? '' : html`<link rel="icon" href="${icon}" type="image/svg+xml" />`}
      </head>
      ${body}
    </html>`.markup;

/** Makes a page of one column. */
export const columnPage = ({ main, ...shell }: Omit<PageShell, 'body'> & { main: Html }): string =>
  pageShell({
    ...shell,
    body: html`<body class="single">
      <main>${main}</main>
    </body>`,
  });
