import { compareLeads } from '../query/lead-order.ts';
import type { StoredLead } from './stored-lead.ts';

interface Source {
  batches: AsyncIterator<StoredLead[]>;
  batch: StoredLead[];
  index: number;
}

/** The profiles of `sources`, each in the order of results, in the order of results; in batches. */
export async function* mergeLeads(
  sources: readonly AsyncIterable<StoredLead[]>[],
): AsyncGenerator<StoredLead[]> {
  const [only] = sources;
  if (only !== undefined && sources.length === 1) {
    yield* only;
    return;
  }
  const open: Source[] = [];
  for (const source of sources) {
    const opened: Source = { batches: source[Symbol.asyncIterator](), batch: [], index: 0 };
    if (await refill(opened)) open.push(opened);
  }
  let merged: StoredLead[] = [];
  while (open.length > 0) {
    const first = firstOf(open);
    const stored = first.batch[first.index];
    if (stored !== undefined) merged.push(stored);
    first.index += 1;
    if (first.index < first.batch.length) continue;
    // Whatever is merged goes on before a batch is waited for.
    if (merged.length > 0) yield merged;
    merged = [];
    if (!(await refill(first))) open.splice(open.indexOf(first), 1);
  }
}

/** Passes over empty batches; false at the end. */
const refill = async (source: Source): Promise<boolean> => {
  for (;;) {
    const { done, value } = await source.batches.next();
    if (done === true) return false;
    if (value.length === 0) continue;
    source.batch = value;
    source.index = 0;
    return true;
  }
};

/** There are few sources: a heap would not pay. */
const firstOf = (sources: readonly Source[]): Source =>
  sources.reduce((first, source) => (compareHeads(source, first) < 0 ? source : first));

const compareHeads = (a: Source, b: Source): number => {
  const [one, other] = [a.batch[a.index], b.batch[b.index]];
  return one === undefined || other === undefined ? 0 : compareLeads(one.lead, other.lead);
};
