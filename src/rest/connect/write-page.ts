import type { ServerResponse } from 'node:http';
import { basePathOf } from '../../kit/public-url.ts';
import { brandTitle } from '../../kit/text.ts';
import { html, type Html } from '../docs/docs-page-html.ts';
import { pageHeaders, columnPage, policyWith } from '../page-shell.ts';
import { walletScriptSource } from './sign-in-form.ts';

/** Answers with a page that has a form. `formAction`: where the form may lead in the end; null: to any address. */
export const writePage = (
  response: ServerResponse,
  status: number,
  page: string,
  { formAction = "'self'", hasScript }: { formAction?: string | null; hasScript?: boolean } = {},
): void => {
  response.writeHead(status, {
    ...pageHeaders,
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'x-robots-tag': 'noindex',
    'content-security-policy': policyWith(hasScript === true ? walletScriptSource : null, formAction),
  });
  response.end(page);
};

/** Whose page it is. */
export interface PageOwner {
  /** The name of this service for people. */
  service: string;
  /** The address of the style sheet. */
  style: string;
}

export const pageOwner = (of: { config: { brand: string }; publicUrl: string }): PageOwner => ({
  service: brandTitle(of.config),
  style: `${basePathOf(of.publicUrl)}/docs/style.css`,
});

/** Makes a page with one text. `after`: what there is to do; by default nothing. */
export const endPage = (
  { service, style }: PageOwner,
  { title, text, after = null }: { title: string; text: string; after?: Html | null },
): string =>
  columnPage({
    title: `${service}: ${title}`,
    style,
    main: html`<h1>${title}</h1>
      <p>${text}</p>
      ${after}`,
  });
