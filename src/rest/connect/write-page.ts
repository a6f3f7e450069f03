import type { ServerResponse } from 'node:http';
import { pageHeaders, policyWith } from '../page-shell.ts';
import { walletScriptSource } from './wallet-script.ts';

/** Answers with a page that has a form. `redirectUri`: where the form may lead in the end. */
export const writePage = (
  response: ServerResponse,
  status: number,
  page: string,
  { redirectUri, hasScript }: { redirectUri?: string; hasScript?: boolean } = {},
): void => {
  const target = redirectUri === undefined ? null : new URL(redirectUri);
  const form = target === null ? '' : ` ${target.origin === 'null' ? target.protocol : target.origin}`;
  response.writeHead(status, {
    ...pageHeaders,
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'x-robots-tag': 'noindex',
    'content-security-policy': policyWith(hasScript === true ? walletScriptSource : null, `'self'${form}`),
  });
  response.end(page);
};
