import type { LeadBatch, LeadInput } from '../lead-keeper.ts';

/**
 * Reads `input` up to its first profile. So an unreadable input is detected before it replaces another import's stored
 * rows. Of the `batches`, which can be read once, at least one has profiles, or there are none. Rejects with the error of
 * `input.read`.
 */
export const beginBatches = async (input: LeadInput, options: Parameters<LeadInput['read']>[0]) => {
  const iterator = input.read(options)[Symbol.asyncIterator]();
  let first = await iterator.next();
  // A batch without profiles only has a position, and the next one has a newer one.
  while (first.done !== true && first.value.leads.length === 0) {
    const next = await iterator.next();
    if (next.done === true) break;
    first = next;
  }
  async function* batches(): AsyncGenerator<LeadBatch> {
    for (let next = first; next.done !== true; next = await iterator.next()) yield next.value;
  }
  return {
    batches: batches(),
    /** For callers that stop before the end. */
    close: async (): Promise<void> => {
      await iterator.return?.();
    },
  };
};
