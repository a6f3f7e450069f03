import { findNetwork } from '../../payments/core/networks.ts';
import type { Payment } from '../../store/store.ts';

const soonestMs = 5_000;
const latestMs = 600_000;
const dayMs = 86_400_000;
const latestAfterADayMs = 3_600_000;

/** Returns when to look again at an open payment: soon at first, then less and less often. */
export const nextCheck = ({ createdAt }: Pick<Payment, 'createdAt'>, now: number): number => {
  const ageMs = now - createdAt;
  const longestMs = ageMs > dayMs ? latestAfterADayMs : latestMs;
  return now + Math.floor(Math.min(Math.max(ageMs / 4, soonestMs), longestMs));
};

/** For a network that this service does not know. */
const defaultFinalityMs = 1_800_000;

/** Returns when to check once more that no fork has undone what the chain said. */
export const finalCheck = ({ network }: Pick<Payment, 'network'>, now: number): number =>
  now + (findNetwork(network)?.family.finalityMs ?? defaultFinalityMs);
