import { readResponse } from './response-object.ts';
import { jobIdOfItem } from './response-ids.ts';
import type { Store } from '../../store/store.ts';
import { responseItemSchemas, responseItemType, type ResponseItem } from './response-items.ts';
import { invalidValue, tooLarge } from './response-rules.ts';

/** The most earlier responses that one request may name. */
const mostResponses = 256;
/** The most stored text that is read for one request, as a multiple of the largest request. Results are larger than their items. */
const readFactor = 4;

/** An item to translate, and its field in the request. */
export interface PlacedItem {
  item: ResponseItem;
  param: string;
}

export interface ResolveReferencesOptions {
  store: Pick<Store, 'getJob'>;
  accountId: string;
  maxBytes: number;
}

export const hasReferences = (items: readonly ResponseItem[]): boolean => items.some(isReference);

const isReference = (item: ResponseItem): boolean => responseItemType(item) === 'item_reference';

/**
 * Replaces references by the output items of the account's earlier responses. Throws AppError `invalid_value` for an
 * item that does not exist, and `input_too_large`.
 */
export const resolveReferences = async (
  items: readonly ResponseItem[],
  options: ResolveReferencesOptions,
): Promise<PlacedItem[]> => {
  const find = createFinder(options);
  const placed: PlacedItem[] = [];
  let bytes = 0;
  for (const [index, item] of items.entries()) {
    const param = `input.${index}`;
    if (!isReference(item)) {
      placed.push({ item, param });
      continue;
    }
    const { id } = responseItemSchemas.item_reference.parse(item);
    const found = await find(id, `${param}.id`);
    bytes += found.bytes;
    if (bytes > options.maxBytes) throw tooLarge(options.maxBytes);
    placed.push({ item: found.item, param });
  }
  return placed;
};

interface FoundItem {
  item: ResponseItem;
  bytes: number;
}

const createFinder = ({ store, accountId, maxBytes }: ResolveReferencesOptions) => {
  const responses = new Map<string, Map<string, FoundItem>>();
  let read = 0;

  const load = async (jobId: string): Promise<Map<string, FoundItem>> => {
    const job = await store.getJob({ id: jobId, accountId });
    if (job === null || job.kind !== 'responses' || job.status !== 'done') return new Map();
    read += job.result?.length ?? 0;
    if (read > readFactor * maxBytes) throw tooLarge(maxBytes);
    return new Map(
      readResponse(job).output.map((item) => [
        item.id ?? '',
        { item: { ...item }, bytes: Buffer.byteLength(JSON.stringify(item)) },
      ]),
    );
  };

  return async (id: string, param: string): Promise<FoundItem> => {
    const jobId = jobIdOfItem(id);
    const known = jobId === null ? undefined : responses.get(jobId);
    if (jobId !== null && known === undefined) {
      if (responses.size >= mostResponses)
        throw invalidValue(param, `a request may name items of at most ${mostResponses} responses.`);
      responses.set(jobId, await load(jobId));
    }
    const found = jobId === null ? undefined : responses.get(jobId)?.get(id);
    if (found === undefined)
      throw invalidValue(
        param,
        'this account has no finished response with such an output item. Send the item itself.',
      );
    return found;
  };
};
