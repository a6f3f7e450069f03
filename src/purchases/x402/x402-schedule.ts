import { findNetwork } from '../../payments/core/networks.ts';
import type { Payment } from '../../store/store.ts';

const soonestMs = 5_000;
const latestMs = 600_000;
const dayMs = 86_400_000;
const latestAfterADayMs = 3_600_000;

/** When to look again at a payment without an end: soon at first, and ever more seldom. */
export const nextCheck = ({ createdAt }: Pick<Payment, 'createdAt'>, now: number): number => {
  const ageMs = now - createdAt;
  const longestMs = ageMs > dayMs ? latestAfterADayMs : latestMs;
  return now + Math.floor(Math.min(Math.max(ageMs / 4, soonestMs), longestMs));
};

/** For a network that this service does not know. */
const defaultFinalityMs = 1_800_000;

/** When to look once more whether what the chain said still holds. */
export const finalCheck = ({ network }: Pick<Payment, 'network'>, now: number): number =>
  now + (findNetwork(network)?.family.finalityMs ?? defaultFinalityMs);
