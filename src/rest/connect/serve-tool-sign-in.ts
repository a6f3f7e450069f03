import type { IncomingMessage, ServerResponse } from 'node:http';
import { lookUpCaller } from '../../accounts/authenticate.ts';
import { AppError } from '../../kit/errors.ts';
import { sha256 } from '../../kit/ids.ts';
import { SignInError } from '../../mounts/ask-for-grant.ts';
import { signInMs } from '../../mounts/create-sign-ins.ts';
import type { Services } from '../../operations/call.ts';
import { html, type Html } from '../docs/docs-page-html.ts';
import { readForm, signInWithKey, type SignInOptions } from './read-sign-in.ts';
import { signInForm } from './sign-in-form.ts';
import { endPage, pageOwner, writePage } from './write-page.ts';

export type ToolSignInOptions = SignInOptions & Pick<Services, 'mounts' | 'publicUrl'>;

/** Each asks an authorization server, and may register there. */
const signInsPerMinute = 10;
const why = 'These tools act in the name of a person. For which account do you sign in?';

/**
 * Serves the pages where a person signs in to a mounted server. They first send a key of the account, so that nobody is led to
 * sign in for the account of somebody else; a cookie ties what comes back to their browser.
 */
export const createServeToolSignIn = (options: ToolSignInOptions) => {
  const { config, publicUrl, mounts, store } = options;
  return async (
    request: IncomingMessage,
    response: ServerResponse,
    { server, isReturn }: { server: string; isReturn: boolean },
  ): Promise<void> => {
    const own = pageOwner({ config, publicUrl: publicUrl() });
    const show = (status: number, title: string, text: string, after: Html | null = null): void =>
      writePage(response, status, endPage(own, { title, text, after }));
    const address = mounts.signIns.pageOf(server);
    if (address === null) return show(404, 'There is nothing here', 'Nobody signs in to this server.');
    const isHttps = address.startsWith('https:');
    // Over https a browser takes the name only with Secure, and from this host.
    const cookie = `${isHttps ? '__Host-' : ''}${config.brand}-tools-${server}=`;
    const nameOf = async (id: string) => `${(await store.getAccount(id))?.name ?? ''} (${id})`;
    const { searchParams } = new URL(request.url ?? '', address);
    try {
      if (isReturn) {
        const sent = (request.headers.cookie ?? '').split('; ').find((pair) => pair.startsWith(cookie)) ?? '';
        const { accountId } = await mounts.signIns.finish(server, searchParams, {
          cookie: sent.slice(cookie.length),
          mayFinish: async (keyHash) => (await lookUpCaller(keyHash, options))?.limits === null,
        });
        const text = `Its tools act in your name for the account ${await nameOf(accountId)}.`;
        return show(200, `You are signed in to ${server}`, text);
      }
      const title = `Sign in to ${server}`;
      if (request.method !== 'POST') return show(200, title, why, keyForm(own.service));
      const caller = await readCaller(request, options);
      if (typeof caller === 'string') return show(400, title, caller, keyForm(own.service));
      const { accountId, keyHash } = caller;
      await options.accountLimiter.consume(accountId, signInsPerMinute, 'sign-ins');
      const begun = await mounts.signIns.begin({ accountId, server }, keyHash);
      const attributes = `Path=/; Max-Age=${signInMs / 1_000}; HttpOnly; SameSite=Lax${isHttps ? '; Secure' : ''}`;
      response.setHeader('set-cookie', `${cookie}${begun.cookie}; ${attributes}`);
      const { host } = new URL(begun.address);
      const text = `Whoever calls tools with the account ${await nameOf(accountId)} then acts in your name at ${host}.`;
      show(200, title, text, html`<p><a href="${begun.address}" rel="noreferrer">Sign in at ${host}</a></p>`);
    } catch (error) {
      if (!(error instanceof SignInError || error instanceof AppError)) throw error;
      show(400, `You are not signed in to ${server}`, `${error.message} Begin again at ${address}`);
    }
  };
};

const keyForm = (service: string): Html => {
  const { key, buttons } = signInForm({ service, prompts: null }, 'Continue');
  return html`<form method="post">${key} ${buttons}</form>`;
};

/** Returns whose key the form has; a text for people if it cannot be used. */
const readCaller = async (request: IncomingMessage, options: ToolSignInOptions) => {
  // Another site could sign the browser in with a key of its own.
  if ((request.headers['sec-fetch-site'] ?? 'same-origin') !== 'same-origin')
    return 'Another site sent this form. Fill it in here.';
  const key = (await readForm(request)).get('key')?.trim() ?? '';
  const caller = await signInWithKey(key, options);
  if (typeof caller === 'string') return caller;
  if (caller.limits !== null) return 'Use a key without limits.';
  return { accountId: caller.accountId, keyHash: sha256(key) };
};
