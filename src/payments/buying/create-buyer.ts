import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { HttpClient } from '../../http/http-client.ts';
import type { PayConfig, PayFor, PayForCalls } from '../../http/pay-settings.ts';
import { currentPurpose } from '../../kit/call-purpose.ts';
import {
  leaveBody,
  limitsFor,
  type AnswerHead,
  type HttpAnswer,
  type HttpRequest,
} from '../../http/send-request.ts';
import type { Clock } from '../../kit/clock.ts';
import { ConfigError } from '../../kit/errors.ts';
import { sha256 } from '../../kit/ids.ts';
import { canonicalJson } from '../../kit/json.ts';
import type { Log } from '../../kit/log.ts';
import { repeat, throttle } from '../../kit/repeat.ts';
import { buyingJob } from '../../rules/jobs.ts';
import { decodeBase64Json, encodeBase64Json } from '../chains/core/wire.ts';
import type { X402NetworkConfig } from '../x402-settings.ts';
import type { BoughtPayment, Store } from '../../store/store.ts';
import { buyAnswer, findBoughtOutcome, type BuyContext, type PaidCall } from './buy-answer.ts';
import { openWallet, type BuyingNetwork } from './open-wallet.ts';

export interface BuyerOptions {
  store: Store;
  clock: Clock;
  log: Log;
  /** The networks that the gateway sells on: their nodes are asked. Others are asked at public nodes. */
  sold: readonly X402NetworkConfig[];
  /** What is sold for test money. No other money is paid for it. */
  soldForTestMoney: Record<Goods, boolean>;
}

type Goods = 'searches' | 'tools';

/** What an operator can do instead of buying with real money what is sold for test money. */
const remedies: Record<Goods, string> = {
  searches: 'X402_NETWORKS to main networks',
  tools: 'WALLET_ACCOUNTS=off',
};

export type Buyer = ReturnType<typeof createBuyer>;

const logIntervalMs = 60_000;
const checkEveryMs = 30_000;
const checkBatch = 20;
const claimMs = 60_000;

/** The largest page that comes with a 402. Its terms are in a header. */
const refusalLimits = { totalBytes: 65_536 };

/** Buys answers of upstreams that are sold by x402, from the operator's wallets. */
export const createBuyer = ({ store, clock, log, sold, soldForTestMoney }: BuyerOptions) => {
  const networks: BuyingNetwork[] = [];
  const problems = new Map<string, { problem: string; at: number }>();
  const warn = throttle<{ upstream: string; problem: string }>(logIntervalMs, (facts, leftOut) =>
    log.warn({ ...facts, leftOut }, 'an upstream was not paid'),
  );
  const noteProblem = (upstream: string, problem: string): void => {
    problems.set(upstream, { problem, at: clock.now() });
    warn({ upstream, problem });
  };

  /** Throws ConfigError where real money would buy `goods` that are sold for test money. */
  const open = (pay: PayConfig, goods: Goods | null): BuyContext => {
    const wallet = openWallet(pay, sold);
    const real = wallet.networks.find(({ isTest }) => !isTest);
    if (goods !== null && soldForTestMoney[goods] && real !== undefined)
      throw new ConfigError(
        `${pay.setting}.networks: ${real.label} has real money, and this gateway sells ${goods} for test money. Name a test ` +
          `network, or set ${remedies[goods]}`,
      );
    networks.push(...wallet.networks);
    return { store, clock, log, wallet, maxPerDay: pay.maxPerDay, noteProblem };
  };

  /** Pays providers, whose models are sold for real money as well. */
  const payFor: PayFor = (http, { upstream, pay }) =>
    createPayingClient(http, { upstream, context: open(pay, null) });

  const payForSearches: PayFor = (http, { upstream, pay }) =>
    createPayingClient(http, { upstream, context: open(pay, 'searches') });

  const payForCalls: PayForCalls = ({ upstream, pay }) => createPayingCaller(upstream, open(pay, 'tools'));

  return {
    payFor,
    payForSearches,
    payForCalls,
    /** The last problem of each upstream that was not paid, as this process has seen it. */
    problems: (): ReadonlyMap<string, { problem: string; at: number }> => problems,
    /** Asks the chains for the outcome of payments without an answer, until `signal` aborts. */
    begin: (signal: AbortSignal): Promise<void> =>
      repeat({
        what: 'checking payments to upstreams',
        intervalMs: checkEveryMs,
        signal,
        log,
        work: () => checkBought({ store, clock, log }, { networks, signal }),
      }),
  };
};

/**
 * Looks up due payments: those that were not taken leave their budget, and of the others the transaction is noted. One that
 * cannot be looked up is logged, and due again later.
 */
export const checkBought = async (
  { store, clock, log }: Pick<BuyerOptions, 'store' | 'clock' | 'log'>,
  { networks, signal }: { networks: readonly BuyingNetwork[]; signal: AbortSignal },
): Promise<void> => {
  const claimedAt = clock.now();
  const due = await store.claimBoughtChecks({
    now: claimedAt,
    until: claimedAt + claimMs,
    limit: checkBatch,
  });
  for (const payment of due) {
    if (signal.aborted) return;
    try {
      await checkOne(payment, { store, clock, networks });
    } catch (error) {
      log.error({ err: error, payment: payment.identity }, 'a payment to an upstream could not be looked up');
    }
  }
};

const checkOne = async (
  payment: BoughtPayment,
  { store, clock, networks }: Pick<BuyerOptions, 'store' | 'clock'> & { networks: readonly BuyingNetwork[] },
): Promise<void> => {
  const found = await findBoughtOutcome(payment, { networks, clock });
  const { identity, state, createdAt } = payment;
  const now = clock.now();
  const end = endOf(payment, found.outcome);
  await store.moveBoughtPayment({
    identity,
    from: [state],
    to: end ?? state,
    transaction: found.outcome === 'settled' ? found.transaction : null,
    reason: 'reason' in found ? found.reason : payment.reason,
    // At growing intervals, until the chain answers.
    checkAt: end === null ? now + Math.max(claimMs, Math.ceil((now - createdAt) / 4)) : null,
    now,
  });
};

const endOf = ({ state }: BoughtPayment, outcome: string): BoughtPayment['state'] | null => {
  if (outcome === 'failed') return 'unused';
  if (outcome !== 'settled') return null;
  return state === 'sent' ? 'lost' : state;
};

const createPayingClient = (
  http: HttpClient,
  { upstream, context }: { upstream: string; context: BuyContext },
): HttpClient => ({
  close: http.close,
  send: async (url, given) => {
    if (isQuestion()) return http.send(url, given);
    const request = await withWholeBody(given);
    const call = toPaidCall(upstream, { url: String(url), ...request });
    return buyAnswer(context, call, async (headers, isForCaller) => {
      const answer: HttpAnswer = await http.send(url, {
        ...request.request,
        headers: { ...given.headers, ...headers },
        limits: (head) => (isForCaller(head.status) ? limitsFor(given.limits, head) : refusalLimits),
      });
      if (!isForCaller(answer.status)) leaveBody(answer.body);
      const { promise: isWhole, resolve } = Promise.withResolvers<boolean>();
      answer.body.once('end', () => resolve(true)).once('close', () => resolve(false));
      return { answer, isWhole };
    });
  },
  receive: async (url, given) => {
    if (isQuestion()) return http.receive(url, given);
    const request = await withWholeBody(given);
    const call = toPaidCall(upstream, { url: String(url), ...request });
    return buyAnswer(context, call, async (headers, isForCaller) => {
      const answer: AnswerHead = await http.receive(url, {
        ...given,
        ...request.request,
        headers: { ...given.headers, ...headers },
        limits: (head) => (isForCaller(head.status) ? limitsFor(given.limits, head) : refusalLimits),
        // The rest of a refusal is read away.
        onData: (chunk, head) => !isForCaller(head.status) || given.onData(chunk, head),
      });
      return { answer, isWhole: true };
    });
  },
});

/** What is no HTTP passes through the same steps: a result is a 200, terms are a 402, a busy server is a 429. */
const createPayingCaller =
  (upstream: string, context: BuyContext): ReturnType<PayForCalls> =>
  async ({ name, input, ...limits }, attempt) => {
    const purpose = currentPurpose();
    const request = sha256(canonicalJson([upstream, buyingJob(purpose), name, input]));
    const bought = await buyAnswer(context, { ...purpose, ...limits, upstream, request }, async (headers) => {
      const header = headers['payment-signature'];
      const proof = header === undefined ? null : { header, payload: decodeBase64Json(header) };
      const { result, terms, receipt, busy } = await attempt(proof);
      const answer = {
        status: busy !== undefined ? 429 : terms === null ? 200 : 402,
        headers: {
          'payment-required': toHeader(terms),
          'payment-response': toHeader(receipt),
          'retry-after': busy?.retryAfter,
        },
        result,
      };
      return { answer, isWhole: true };
    });
    return bought.result;
  };

const toHeader = (value: unknown): string => (typeof value === 'string' ? value : encodeBase64Json(value));

/** Questions are not bought: each would replay the first answer. */
const isQuestion = (): boolean => currentPurpose().isQuestion === true;

/** A request may be sent several times, so a streamed body is read first. */
const withWholeBody = async <Request extends HttpRequest>(
  request: Request,
): Promise<{ request: Request; body: string | Uint8Array | null }> => {
  const { body = null } = request;
  if (body === null || typeof body === 'string' || body instanceof Uint8Array) return { request, body };
  if (!(body instanceof Readable)) throw new TypeError('a form is encoded before it is sent');
  const bytes = await buffer(body);
  return { request: { ...request, body: bytes }, body: bytes };
};

/** A form's boundary is random, and differs when a job is tried again. */
const withoutBoundary = (bytes: Buffer, contentType: string): string | Buffer => {
  const boundary = /boundary="?([^";]+)/i.exec(contentType)?.[1];
  return boundary === undefined ? bytes : bytes.toString('latin1').replaceAll(boundary, '');
};

const toPaidCall = (
  upstream: string,
  { url, request, body }: { url: string; request: HttpRequest; body: string | Uint8Array | null },
): PaidCall => {
  const purpose = currentPurpose();
  const { method = 'GET', headers = {}, signal = null } = request;
  const digest = sha256(withoutBoundary(Buffer.from(body ?? ''), headers['content-type'] ?? ''));
  const named = [upstream, buyingJob(purpose), method, url, digest];
  return { ...purpose, upstream, signal, request: sha256(JSON.stringify(named)) };
};
