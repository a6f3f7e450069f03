import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { lookUpCaller, type Caller } from '../../accounts/authenticate.ts';
import { randomBase62, sha256 } from '../../kit/ids.ts';
import type { JsonObject } from '../../kit/json.ts';
import { memoizeAsync } from '../../kit/memoize.ts';
import { formatUsd } from '../../kit/money.ts';
import { basePathOf } from '../../kit/public-url.ts';
import { askedCallPath, askedMs } from '../../operations/ask-person.ts';
import type { Services } from '../../operations/call.ts';
import type { Operation } from '../../operations/definition.ts';
import { budgetsOf } from '../../rules/key-limits.ts';
import type { AskedCall, Connection } from '../../store/store.ts';
import { isConsoleBuilt } from '../console/console-files.ts';
import { html, type Html } from '../docs/docs-page-html.ts';
import {
  askedCallPage,
  decisionPage,
  type AskedCallState,
  type AskedCallSubject,
} from './asked-call-page.ts';
import { readForm, readSignIn, type SignInOptions } from './read-sign-in.ts';
import { endPage, pageOwner, writePage } from './write-page.ts';

export interface AskedCallOptions extends SignInOptions, Pick<Services, 'cards'> {
  publicUrl: () => string;
  operations: readonly Operation[];
}

interface Asked {
  asked: AskedCall;
  /** Null: the caller is a program with an API key. */
  connection: Connection | null;
}

/** Serves the page of an asked call. A person signs in there, and then confirms or declines the call, or adds money. */
export const createServeAskedCall = (options: AskedCallOptions) => {
  const { store, clock, config, x402, publicUrl, operations } = options;
  const tokens = createTokens(options);
  const statement = 'Sign in to see a call that waits for you. Signing costs nothing.';

  return async (
    request: IncomingMessage,
    response: ServerResponse,
    { id, clientAddress }: { id: string; clientAddress: string },
  ): Promise<void> => {
    const own = pageOwner({ config, publicUrl: publicUrl() });
    const now = clock.now();
    const asked = await store.getAskedCall({ id, now });
    if (asked === null) return writePage(response, 404, endPage(own, ended));
    if (asked.answer !== null) return writePage(response, 200, endPage(own, ends[asked.answer]));
    const connection = await store.getConnection({ id: asked.keyId, now });
    const subject = {
      ...own,
      assistant: connection && toAssistant(connection),
      title: operations.find(({ name }) => name === asked.operation)?.title ?? asked.operation,
      model: asked.model,
      most: `$${formatUsd(asked.most)}`,
    };
    // A message that was signed for another page counts for nothing here.
    const requestId = sha256(id);
    const showSignIn = async (problem: string | null): Promise<void> => {
      const prompts = config.wallets.isOn ? await x402.promptSignIn({ statement, requestId }) : null;
      const page = askedCallPage(subject, { prompts, problem });
      writePage(response, problem === null ? 200 : 400, page, { hasScript: prompts !== null });
    };
    if (request.method !== 'POST') return showSignIn(null);
    const form = await readForm(request);
    const token = form.get('token');
    if (token === null) {
      const useWallet = findOwner(options);
      const signedIn = await readSignIn(form, { requestId, clientAddress, useWallet }, options);
      if (typeof signedIn === 'string') return showSignIn(signedIn);
      if (signedIn.accountId !== asked.accountId)
        return showSignIn('Another account pays for this call. Sign in to that one.');
      const isConfirming = isConfirmable({ asked, connection });
      const key = 'keyId' in signedIn ? signedIn : null;
      if (isConfirming && !mayConfirm(key, connection)) return showSignIn(cannotConfirm);
      const state = await readState({ asked, connection }, options);
      const signer = key === null ? '' : sha256(form.get('key')?.trim() ?? '');
      const made = isConfirming ? await tokens.make(id, signer) : null;
      return writePage(response, 200, decisionPage(subject, { ...state, token: made }));
    }
    const signer = await tokens.signerOf(id, token);
    if (signer === null) return showSignIn('The page was open for too long. Sign in again.');
    const key = signer === '' ? null : await lookUpCaller(signer, options);
    if (signer !== '' && (key === null || !mayConfirm(key, connection))) return showSignIn(cannotConfirm);
    const answer = form.get('answer') === 'allow' ? 'confirmed' : 'declined';
    await store.answerAskedCall({ id, answer, now, expiresAt: now + askedMs });
    response.writeHead(303, { location: basePathOf(publicUrl()) + askedCallPath + id }).end();
  };
};

const cannotConfirm =
  'This key has limits or has ended, so it confirms no call. Sign in with a key without limits.';

/** A client that has no address is labelled with the name that it gives itself. */
const toAssistant = ({ label, client: { name } }: Connection): AskedCallSubject['assistant'] => ({
  host: label === name ? null : label,
  name,
});

const ended = {
  title: 'This request has ended',
  text: 'The call was made, or the time for it is over. Go back to your assistant.',
};

const ends = {
  confirmed: {
    title: 'The call is confirmed',
    text: 'Go back to your assistant, and let it call again within ten minutes.',
  },
  declined: { title: 'The call is declined', text: 'Nothing was charged. Go back to your assistant.' },
};

/**
 * Makes the texts that show who has signed in on the page. Another site cannot have one. `signer`: SHA-256 of the key, whose
 * end counts here, too; empty for a wallet.
 */
const createTokens = ({ store, clock }: Pick<AskedCallOptions, 'store' | 'clock'>) => {
  const loadSecret = memoizeAsync(() =>
    store.getOrCreateSecret({ name: 'asked-calls', value: randomBase62(43) }),
  );
  const sign = async (id: string, signer: string, until: number): Promise<string> =>
    `${until}.${signer}.${createHmac('sha256', await loadSecret())
      .update(`${id} ${signer} ${until}`)
      .digest('hex')}`;
  return {
    make: (id: string, signer: string): Promise<string> => sign(id, signer, clock.now() + askedMs),
    /** Null: the text is none of this page, or too old. */
    signerOf: async (id: string, token: string): Promise<string | null> => {
      const [until = '', signer = ''] = token.split('.');
      const [sent, made] = [Buffer.from(token), Buffer.from(await sign(id, signer, Number(until)))];
      const isOf = sent.length === made.length && timingSafeEqual(sent, made);
      return isOf && Number(until) > clock.now() ? signer : null;
    },
  };
};

/** Finds the account of the wallet that signed a message. It makes none. */
const findOwner =
  ({ store, config, x402 }: AskedCallOptions) =>
  async (message: JsonObject, signal: AbortSignal): Promise<{ accountId: string | null }> => {
    const wallet = await x402.signIn(message, signal);
    const account = await store.findWalletAccount({ wallet, isSandbox: !config.x402.takesRealMoney });
    return { accountId: account?.id ?? null };
  };

const isConfirmable = ({ asked, connection }: Asked): boolean =>
  connection !== null && connection.askAbove !== null && asked.most > connection.askAbove;

/** A key with limits changes no connection, but for the one that it made. A wallet has none. */
const mayConfirm = (key: Pick<Caller, 'keyId' | 'limits'> | null, connection: Asked['connection']): boolean =>
  key === null || key.limits === null || key.keyId === connection?.parentId;

const periods = { day: 'Today (UTC)', month: 'This month (UTC)', total: 'In all' };

const askOperator = html`Ask the operator of this service to add money.`;

/** How a person adds money to an account. */
const howToAdd = (isSandbox: boolean, { config, publicUrl, cards }: AskedCallOptions): Html => {
  const takesWallets = config.wallets.isOn && isSandbox !== config.x402.takesRealMoney;
  const page = `${publicUrl()}/console/top-up`;
  if ((takesWallets || cards?.sells(isSandbox) === true) && config.hasConsole && isConsoleBuilt())
    return html`<a href="${page}">Add money in the console</a>.`;
  return takesWallets
    ? html`Pay USDC onto it: a program with a wallet and an API key of this account calls POST
      ${publicUrl()}/v1/topup.`
    : askOperator;
};

const readState = async (
  { asked, connection }: Asked,
  options: AskedCallOptions,
): Promise<Omit<AskedCallState, 'token'>> => {
  const account = await options.store.getAccount(asked.accountId);
  if (account === null) throw new Error(`there is no account ${asked.accountId}`);
  const available = account.balance - account.held;
  // Directories of assistants refuse pages that take payments.
  const isInDirectory = connection?.resource === '/mcp/account/directory';
  const howToPay = isInDirectory ? askOperator : howToAdd(account.isSandbox, options);
  return {
    rows: [
      ['Balance', `$${formatUsd(available)}`],
      ...(connection === null ? [] : budgetsOf(connection)).map(
        ({ period, limit, spent, held }) =>
          [periods[period], `$${formatUsd(spent + held)} of $${formatUsd(limit)} is spent or held`] as const,
      ),
    ],
    howToPay: available < asked.most ? howToPay : null,
  };
};
