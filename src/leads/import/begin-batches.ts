import type { LeadBatch, LeadInput } from '../lead-keeper.ts';

/** The batches of an input, of which there is one with profiles, or none. */
export interface BegunBatches {
  /** To be read once. */
  batches: AsyncIterable<LeadBatch>;
  /** For whoever does not read them to their end. */
  close(): Promise<void>;
}

/**
 * Reads `input` up to its first profile, so that one that cannot be read is known before what was stored of another one
 * is given up for it. Rejects with what `input.read` throws.
 */
export const beginBatches = async (
  input: LeadInput,
  options: Parameters<LeadInput['read']>[0],
): Promise<BegunBatches> => {
  const iterator = input.read(options)[Symbol.asyncIterator]();
  let first = await iterator.next();
  // A batch without profiles has nothing but a position, which the next one has too.
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
    close: async () => {
      await iterator.return?.();
    },
  };
};
