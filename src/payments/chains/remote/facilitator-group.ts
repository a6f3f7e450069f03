import { LRUCache } from 'lru-cache';
import { ConfigError } from '../../../kit/errors.ts';
import { sha256 } from '../../../kit/ids.ts';
import {
  toSettleOutcome,
  signalWithin,
  type Facilitator,
  type PaymentOrder,
  type SettleOptions,
  type SettleOutcome,
  type SupportedKind,
  type VerifyOutcome,
} from '../core/facilitator.ts';
import type { FacilitatorEndpoint } from '../../x402-settings.ts';
import {
  createRemoteFacilitator,
  type RemoteFacilitator as Member,
  type RemoteFacilitatorOptions,
} from './remote-facilitator.ts';
import { findRemoteOutcome, type ChainWitness } from './remote-outcome.ts';

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
