import { html, type Html } from './docs/docs-page-html.ts';

/** Headers of our pages, which need no script and nothing from other origins. Lower case names. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

export interface PageShell {
  title: string;
  /** The address of `/docs/style.css`, relative to the page. */
  style: string;
  body: Html;
}

/** Makes a whole page from its body. */
export const pageShell = ({ title, style, body }: PageShell): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="stylesheet" href="${style}" />
      </head>
      ${body}
    </html>`.markup;
