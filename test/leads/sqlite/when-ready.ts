import { vi } from 'vitest';
import type { LeadSource } from '../../../src/leads/lead-source.ts';

/** Resolves when there are profiles that can be searched. */
export const whenReady = async (leads: LeadSource): Promise<void> => {
  await vi.waitUntil(() => leads.status().ready && leads.status().profiles !== 0, { timeout: 60_000 });
};
