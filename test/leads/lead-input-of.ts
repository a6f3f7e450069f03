import type { LeadInput } from '../../src/leads/lead-index.ts';
import type { Lead } from '../../src/leads/lead-source.ts';

export interface LeadInputOptions {
  batchRows?: number;
  onRead?: () => void;
  /** Called before each batch with the rows given so far. */
  beforeBatch?: (rows: number) => void | Promise<void>;
}

/** An input of profiles in memory. */
export const leadInputOf = (
  leads: readonly Lead[],
  { batchRows = 10, onRead, beforeBatch }: LeadInputOptions = {},
): LeadInput => ({
  async *read({ signal }) {
    onRead?.();
    for (let row = 0; row < leads.length; row += batchRows) {
      await beforeBatch?.(row);
      signal.throwIfAborted();
      yield leads.slice(row, row + batchRows);
    }
  },
});
