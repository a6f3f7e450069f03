import { sha256 } from '../../kit/ids.ts';
import {
  toSettleOutcome,
  type BegunPayment,
  type Facilitator,
  type FacilitatorTimeouts,
  type OutgoingTransaction,
  type PaymentOrder,
  type SettleOutcome,
  type SupportedKind,
  type VerifyOutcome,
} from '../core/facilitator.ts';
import type { NetworkFamily } from '../core/network-family.ts';
import type { RemoteFacilitator } from './remote-facilitator.ts';
import type { RemoteOutcome } from './remote-outcome.ts';

export interface FacilitatorGroupOptions {
  family: NetworkFamily;
  /** In order of preference. */
  members: readonly [RemoteFacilitator, ...RemoteFacilitator[]];
  outcome: RemoteOutcome;
  timeouts: FacilitatorTimeouts;
  /** Epoch milliseconds. */
  now: () => number;
}

type Member = RemoteFacilitator;

const unavailable = { outcome: 'unavailable', reason: 'facilitator_unavailable' } as const;
const foreignFeePayer = 'invalid_exact_svm_fee_payer_not_managed_by_facilitator';
/** The number of proofs between verification and settlement that are remembered. */
const maxVerified = 10_000;

/** Yields facilitators that work, and then those that rest: they are asked when no other is left. */
const byCondition = function* (members: readonly Member[]): Generator<Member> {
  const resting: Member[] = [];
  for (const member of members) {
    if (member.allows()) yield member;
    else resting.push(member);
  }
  yield* resting;
};

/** Remembers which facilitator verified a proof last. */
const createVerifiers = () => {
  const verifiers = new Map<string, Member>();
  const keyOf = ({ payload }: PaymentOrder): string => sha256(JSON.stringify(payload.payload));
  return {
    note: (order: PaymentOrder, member: Member): void => {
      const key = keyOf(order);
      verifiers.delete(key);
      verifiers.set(key, member);
      const [oldest] = verifiers.keys();
      if (verifiers.size > maxVerified && oldest !== undefined) verifiers.delete(oldest);
    },
    take: (order: PaymentOrder): Member | null => {
      const key = keyOf(order);
      const member = verifiers.get(key) ?? null;
      verifiers.delete(key);
      return member;
    },
  };
};

/**
 * Joins facilitators elsewhere into one. A verification goes to the next facilitator when one gives no verdict. A
 * settlement always stays with the facilitator that was asked first: of two that settle the same payment, neither could
 * tell the outcome for sure.
 */
export const createFacilitatorGroup = (options: FacilitatorGroupOptions): Facilitator => {
  const { family, members, outcome, timeouts, now } = options;
  const [first] = members;
  const verifiers = createVerifiers();
  let offered: { member: Member; kind: SupportedKind } | null = null;

  const findMember = (url: string | null): Member | null =>
    members.find((member) => member.url === url) ?? null;

  const listSupporting = (among: readonly Member[]): { member: Member; kind: SupportedKind }[] =>
    among.flatMap((member) => {
      const kind = member.supports();
      return kind === null || kind === 'unsupported' ? [] : [{ member, kind }];
    });

  /** Returns the facilitators that may be asked about a proof; a reason when the proof is for none of them. */
  const findCandidates = async (order: PaymentOrder): Promise<Member[] | { reason: string }> => {
    const feePayer = await family.readFeePayer(order.payload.payload);
    if (feePayer === null) {
      const unasked = members.filter((member) => member.supports() === null);
      return [...listSupporting(members).map(({ member }) => member), ...unasked];
    }
    const owners = members.filter((member) => member.hasNamed(feePayer));
    const isForeign = owners.length === 0 && members.every((member) => member.supports() !== null);
    return isForeign ? { reason: foreignFeePayer } : owners;
  };

  const verify = async (order: PaymentOrder, outer: AbortSignal): Promise<VerifyOutcome> => {
    const candidates = await findCandidates(order);
    if ('reason' in candidates) return { outcome: 'invalid', reason: candidates.reason, payer: null };
    const endsAt = performance.now() + timeouts.verifyMs;
    let left = candidates.length;
    let last: VerifyOutcome = unavailable;
    for (const member of byCondition(candidates)) {
      const shareMs = Math.max(0, endsAt - performance.now()) / left;
      left -= 1;
      const signal = AbortSignal.any([outer, AbortSignal.timeout(Math.ceil(shareMs))]);
      last = await member.verify(order, signal);
      if (last.outcome === 'valid') verifiers.note(order, member);
      if (last.outcome !== 'unavailable' || outer.aborted) return last;
    }
    return last;
  };

  const chooseSettler = async (order: PaymentOrder): Promise<Member | null> => {
    const verifier = verifiers.take(order);
    if (verifier !== null) return verifier;
    const candidates = await findCandidates(order);
    if ('reason' in candidates) return null;
    const [chosen] = byCondition(candidates);
    return chosen ?? null;
  };

  /** Asks the chain about a payment whose facilitator is not configured: no other facilitator may settle it. */
  const settleByChain = async (order: PaymentOrder, earlier: OutgoingTransaction): Promise<SettleOutcome> => {
    const begun: BegunPayment = { ...order, ...earlier, createdAt: now() };
    const found = await outcome.find(begun, AbortSignal.timeout(timeouts.queryMs));
    return toSettleOutcome(found, { openReason: 'facilitator_not_configured' });
  };

  /** Chooses the facilitator that the terms name: the first that works. While none answers, the terms do not change. */
  const chooseOffered = (ready: readonly Member[]): typeof offered =>
    listSupporting(ready.filter((member) => member.trouble() === null))[0] ??
    listSupporting(ready)[0] ??
    listSupporting(members).find(({ member }) => member === offered?.member) ??
    listSupporting(members)[0] ??
    null;

  const refreshMember = async (member: Member, signal: AbortSignal) => {
    const found = await member.refresh(signal);
    const trouble = found ?? member.trouble();
    return {
      isReady: found === null,
      line: trouble === null ? null : `the facilitator ${member.url} ${trouble}`,
    };
  };

  return {
    name: 'remote',
    address: () => (offered?.member ?? first).url,
    supports: () => {
      if (offered !== null) return offered.kind;
      return members.every((member) => member.supports() === 'unsupported') ? 'unsupported' : null;
    },
    refresh: async (signal) => {
      const reports = await Promise.all(members.map((member) => refreshMember(member, signal)));
      const ready = members.filter((_member, index) => reports[index]?.isReady === true);
      offered = chooseOffered(ready);
      const lines = reports.flatMap(({ line }) => (line === null ? [] : [line]));
      return { ready: ready.length > 0, detail: lines.length === 0 ? null : lines.join('; ') };
    },
    verify,
    settle: async (order, settling) => {
      const { earlier } = settling;
      if (earlier !== null) {
        const pinned = findMember(earlier.facilitator);
        return pinned === null ? settleByChain(order, earlier) : pinned.settle(order, settling);
      }
      const settler = await chooseSettler(order);
      return settler === null ? unavailable : settler.settle(order, settling);
    },
    findOutcome: (payment, signal) => outcome.find(payment, signal),
    canSettleBlindly: ({ facilitator }) => findMember(facilitator) !== null,
  };
};
