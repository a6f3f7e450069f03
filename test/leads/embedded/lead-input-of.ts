import type { Json } from '../../../src/kit/json.ts';
import type { LeadInput } from '../../../src/leads/lead-keeper.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';

export interface LeadInputOptions {
  key?: string | null;
  batchRows?: number;
  /** Told of each place from which the input was read. */
  onRead?: (after: number) => void;
  /** Called before each batch with the rows given so far. */
  beforeBatch?: (rows: number) => void | Promise<void>;
  resumeEnd?: (position: Json) => void;
  isRefused?: () => boolean;
}

/** An input of profiles in memory; a position is how many of them were given. */
export const leadInputOf = (
  leads: readonly Lead[],
  { key = null, batchRows = 10, onRead, beforeBatch, ...rest }: LeadInputOptions = {},
): LeadInput => ({
  key,
  ...rest,
  async *read({ after, signal }) {
    const start = typeof after === 'number' ? after : 0;
    onRead?.(start);
    for (let row = start; row < leads.length; row += batchRows) {
      await beforeBatch?.(row);
      signal.throwIfAborted();
      yield { leads: leads.slice(row, row + batchRows), position: row + batchRows };
    }
  },
});
