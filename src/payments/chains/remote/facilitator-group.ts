import { LRUCache } from 'lru-cache';
import { createCircuitBreaker, failuresInARow } from '../../../kit/circuit-breaker.ts';
import { ConfigError } from '../../../kit/errors.ts';
import { sha256 } from '../../../kit/ids.ts';
import type { Log } from '../../../kit/log.ts';
import {
  createFeePayers,
  signalWithin,
  toSettleOutcome,
  type Facilitator,
  type PaymentOrder,
  type SettleOptions,
  type SettleOutcome,
  type SupportedKind,
  type VerifyOutcome,
} from '../core/facilitator.ts';
import type { FacilitatorEndpoint } from '../../x402-settings.ts';
import { createCdpSigner } from './cdp-jwt.ts';
import {
  createRemoteHttp,
  findTrouble,
  notUnderstood,
  readSettlement,
  readSupported,
  readVerification,
  type Trouble,
} from './remote-answers.ts';
import { confirmClaim, findRemoteOutcome, type ChainWitness } from './remote-outcome.ts';

/** Two, because one may be an idle connection that the other side closed. */
const maxFailures = 2;
const restMs = 30_000;

type Source = 'work' | 'refresh';

/** Logs each change of a facilitator's condition once, and calls `onTrouble` at the first fault. */
const createFacilitatorCondition = (options: {
  url: string;
  log: Log;
  /** A clock that never goes back, milliseconds. */
  nowMs: () => number;
  onTrouble: (url: string) => void;
}) => {
  const { url, log, nowMs, onTrouble } = options;
  const breaker = createCircuitBreaker({
    opensAfter: failuresInARow(maxFailures),
    openMs: restMs,
    probeMs: restMs,
    nowMs,
  });
  let current: (Trouble & { source: Source; notedAtMs: number }) | null = null;

  const fails = (found: Trouble, source: Source): void => {
    const before = current;
    current = { ...found, source, notedAtMs: nowMs() };
    breaker.failed();
    if (found.text === before?.text) return;
    log.warn({ facilitator: url, why: found.why }, `a payment facilitator ${found.text}`);
    if (before === null) onTrouble(url);
  };

  const works = (): void => {
    breaker.succeeded();
    if (current === null) return;
    current = null;
    log.info({ facilitator: url }, 'a payment facilitator works again');
  };

  /** It proves little about its work, which is tried again after a rest, and nothing when our credentials are refused. */
  const answersRefresh = (): void => {
    if (current === null) return;
    if (current.source === 'refresh') works();
    else if (current.kind !== 'refused' && nowMs() - current.notedAtMs >= restMs) current = null;
  };

  return {
    /** Whether it works, or rests no longer. One call may try at the end of a rest. */
    allows: (): boolean => breaker.enter() !== null,
    trouble: (): string | null => current?.text ?? null,
    noteWork: (found: Trouble | null): void => (found === null ? works() : fails(found, 'work')),
    noteRefresh: (found: Trouble | null): void =>
      found === null ? answersRefresh() : fails(found, 'refresh'),
  };
};

interface RemoteFacilitatorOptions extends FacilitatorEndpoint, ChainWitness {
  log: Log;
  /** A clock that never goes back, in milliseconds; it measures the rest of a facilitator that fails. */
  nowMs?: () => number;
  onTrouble: (url: string) => void;
}

/** Tells whether the caller went away, which proves nothing about the facilitator. A time-out does. */
const isGivenUp = (signal: AbortSignal): boolean =>
  signal.aborted && !(signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError');

const toRequest = ({ payload, requirements }: PaymentOrder) => ({
  x402Version: 2,
  paymentPayload: payload,
  paymentRequirements: requirements,
});

const broken = (text: string, why: string): Trouble => ({ kind: 'broken', text, why });

type Member = ReturnType<typeof createRemoteFacilitator>;

/**
 * Speaks with one facilitator elsewhere over HTTP, in x402 v2. No method rejects for its faults; `settle` rejects as in
 * `Facilitator`. Throws ConfigError for a key that cannot be used.
 */
const createRemoteFacilitator = (options: RemoteFacilitatorOptions) => {
  const { network, url, cdpKey, timeouts, log, now, onTrouble } = options;
  const ask = createRemoteHttp({ url, sign: cdpKey === null ? null : createCdpSigner(cdpKey, now) });
  const nowMs = options.nowMs ?? (() => performance.now());
  const condition = createFacilitatorCondition({ url, log, nowMs, onTrouble });
  const feePayers = createFeePayers();
  let supported: SupportedKind | 'unsupported' | null = null;

  return {
    url,
    /** Null: not known yet. The last answer counts while it cannot be asked. Changes only in `refresh`. */
    supports: () => supported,
    hasNamed: feePayers.has,
    allows: condition.allows,
    trouble: condition.trouble,
    /** Asks what it supports. Returns the obstacle to settling, for the operator; null for none. */
    refresh: async (outer: AbortSignal): Promise<string | null> => {
      const signal = signalWithin(timeouts.queryMs, outer);
      const answer = await ask('/supported', { signal });
      const kind = readSupported(answer, network);
      const strange = kind === null ? broken('answers with something else than x402', 'supported') : null;
      const trouble = findTrouble(answer) ?? strange;
      if (!isGivenUp(signal)) condition.noteRefresh(trouble);
      if (kind === null) return trouble?.text ?? null;
      supported = kind;
      feePayers.note(kind);
      return kind === 'unsupported' ? `does not settle on ${network.label}` : null;
    },
    verify: async (order: PaymentOrder, signal: AbortSignal): Promise<VerifyOutcome> => {
      const answer = await ask('/verify', { body: toRequest(order), signal });
      const verified = readVerification(answer);
      const own = verified.outcome === 'unavailable' ? broken('cannot verify', verified.reason) : null;
      if (!isGivenUp(signal)) condition.noteWork(findTrouble(answer) ?? own);
      return verified;
    },
    settle: async (
      order: PaymentOrder,
      { earlier, beforeBroadcast }: SettleOptions,
    ): Promise<SettleOutcome> => {
      const transaction = earlier?.transaction ?? null;
      await beforeBroadcast({ transaction, rawTransaction: null, facilitator: url });
      const signal = AbortSignal.timeout(timeouts.settleMs);
      const answer = await ask('/settle', { body: toRequest(order), signal });
      const claimed = readSettlement(answer, { network, isRepeated: earlier !== null });
      const isStrange = claimed.outcome === 'unknown' && claimed.reason === notUnderstood;
      condition.noteWork(findTrouble(answer) ?? (isStrange ? broken('cannot settle', 'body') : null));
      return confirmClaim(options, order, claimed);
    },
  };
};

interface Supporting {
  member: Member;
  kind: SupportedKind;
}

interface Group {
  members: readonly Member[];
  witness: ChainWitness;
  /** The facilitators that verified proofs last, by the proofs' hashes: between verification and settlement. */
  verifiers: LRUCache<string, Member>;
}

const unavailable = { outcome: 'unavailable', reason: 'facilitator_unavailable' } as const;
const foreignFeePayer = 'invalid_exact_svm_fee_payer_not_managed_by_facilitator';
const maxVerified = 10_000;

const keyOf = ({ payload }: PaymentOrder): string => sha256(JSON.stringify(payload.payload));

/** Yields facilitators that work, and then those that rest: they are asked when no other is left. */
const byCondition = function* (members: readonly Member[]): Generator<Member> {
  const resting: Member[] = [];
  for (const member of members) {
    if (member.allows()) yield member;
    else resting.push(member);
  }
  yield* resting;
};

const listSupporting = (members: readonly Member[]): Supporting[] =>
  members.flatMap((member) => {
    const kind = member.supports();
    return kind === null || kind === 'unsupported' ? [] : [{ member, kind }];
  });

/** Returns the facilitators that may be asked about a proof; null when it is for none of them. */
const findCandidates = async ({ members, witness }: Group, order: PaymentOrder): Promise<Member[] | null> => {
  const feePayer = await witness.network.family.readFeePayer(order.payload.payload);
  const unasked = members.filter((member) => member.supports() === null);
  if (feePayer === null) return [...listSupporting(members).map(({ member }) => member), ...unasked];
  const owners = members.filter((member) => member.hasNamed(feePayer));
  return owners.length === 0 && unasked.length === 0 ? null : owners;
};

/** Verifies with the next facilitator when one gives no verdict. Each has an equal share of the time that is left. */
const verify = async (group: Group, order: PaymentOrder, outer: AbortSignal): Promise<VerifyOutcome> => {
  const candidates = await findCandidates(group, order);
  if (candidates === null) return { outcome: 'invalid', reason: foreignFeePayer };
  const endsAt = performance.now() + group.witness.timeouts.verifyMs;
  let left = candidates.length;
  let last: VerifyOutcome = unavailable;
  for (const member of byCondition(candidates)) {
    const shareMs = Math.max(0, endsAt - performance.now()) / left;
    left -= 1;
    last = await member.verify(order, signalWithin(Math.ceil(shareMs), outer));
    if (last.outcome === 'valid') group.verifiers.set(keyOf(order), member);
    if (last.outcome !== 'unavailable' || outer.aborted) return last;
  }
  return last;
};

const chooseSettler = async (group: Group, order: PaymentOrder): Promise<Member | undefined> => {
  const key = keyOf(order);
  const verifier = group.verifiers.get(key);
  group.verifiers.delete(key);
  if (verifier !== undefined) return verifier;
  const [chosen] = byCondition((await findCandidates(group, order)) ?? []);
  return chosen;
};

/**
 * A settlement always stays with the facilitator that was asked first: of two that settle the same payment, neither
 * could tell the outcome for sure. When that one is not configured any more, only the chain is asked.
 */
const settle = async (group: Group, order: PaymentOrder, settling: SettleOptions): Promise<SettleOutcome> => {
  const { earlier } = settling;
  if (earlier === null) {
    const settler = await chooseSettler(group, order);
    return settler === undefined ? unavailable : settler.settle(order, settling);
  }
  const pinned = group.members.find(({ url }) => url === earlier.facilitator);
  if (pinned !== undefined) return pinned.settle(order, settling);
  const { witness } = group;
  const found = await findRemoteOutcome(witness, { ...order, ...earlier, createdAt: witness.now() });
  return toSettleOutcome(found, { openReason: 'facilitator_not_configured' });
};

const refreshMember = async (member: Member, signal: AbortSignal) => {
  const found = await member.refresh(signal);
  const trouble = found ?? member.trouble();
  const line = trouble === null ? null : `the facilitator ${member.url} ${trouble}`;
  return { member, isReady: found === null, line };
};

/** Joins facilitators elsewhere into one. Throws ConfigError for no facilitator, and for a key that cannot be used. */
export const createFacilitatorGroup = ({
  endpoints,
  ...shared
}: Omit<RemoteFacilitatorOptions, keyof FacilitatorEndpoint> & {
  endpoints: readonly FacilitatorEndpoint[];
}): Facilitator => {
  const members = endpoints.map((endpoint) => createRemoteFacilitator({ ...endpoint, ...shared }));
  const [first] = members;
  if (first === undefined) throw new ConfigError('X402_FACILITATOR_URL: must name at least one facilitator');
  const group: Group = { members, witness: shared, verifiers: new LRUCache({ max: maxVerified }) };
  let offered: Supporting | undefined;

  return {
    name: 'remote',
    address: () => (offered?.member ?? first).url,
    supports: () => {
      if (offered !== undefined) return offered.kind;
      return members.every((member) => member.supports() === 'unsupported') ? 'unsupported' : null;
    },
    refresh: async (signal) => {
      const reports = await Promise.all(members.map((member) => refreshMember(member, signal)));
      const ready = reports.flatMap(({ member, isReady }) => (isReady ? [member] : []));
      const before = offered;
      // The terms name the first that works. While none answers, they do not change.
      offered = [
        ...listSupporting(ready.filter((member) => member.trouble() === null)),
        ...listSupporting(ready),
        ...listSupporting(members).filter(({ member }) => member === before?.member),
        ...listSupporting(members),
      ][0];
      const lines = reports.flatMap(({ line }) => line ?? []);
      return { ready: ready.length > 0, detail: lines.length === 0 ? null : lines.join('; ') };
    },
    verify: (order, signal) => verify(group, order, signal),
    settle: (order, settling) => settle(group, order, settling),
    findOutcome: (payment, signal) => findRemoteOutcome(shared, payment, signal),
    canSettleBlindly: ({ facilitator }) => members.some(({ url }) => url === facilitator),
  };
};
