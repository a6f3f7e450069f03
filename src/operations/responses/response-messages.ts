import type { JsonObject } from '../../kit/json.ts';
import type { TextMessage } from '../../providers/text/text-provider.ts';
import {
  isResponseItemType,
  responseItemSchemas,
  responseItemType,
  type ResponseContent,
  type ResponseItem,
  invalidValue,
  tooLarge,
} from './response-input.ts';
import { readResponse, jobIdOfItem } from './response-object.ts';
import type { OutputItem } from './response-output.ts';
import type { Store } from '../../store/store.ts';

/** One turn of the assistant: its words, its calls and their outputs, which chat form keeps together. */
interface Turn {
  texts: string[];
  refusals: string[];
  calls: { id: string; type: 'function'; function: JsonObject; extra_content?: JsonObject }[];
}

/**
 * Translates checked Responses items to chat form. Throws AppError `invalid_value` for an output without a call of its
 * own, and for a conversation without a message.
 */
export const toMessages = (placed: readonly PlacedItem[], instructions: string | null): TextMessage[] => {
  const messages: TextMessage[] = instructions === null ? [] : [{ role: 'system', content: instructions }];
  const outputs = gatherOutputs(placed);
  let turn: Turn | null = null;

  /** Adds the assistant's message, then the outputs of its calls: the only order that a chat model accepts. */
  const endTurn = (): void => {
    if (turn === null) return;
    messages.push(toAssistantMessage(turn));
    for (const { id } of turn.calls) {
      const output = outputs.get(id)?.shift();
      if (output !== undefined)
        messages.push({ role: 'tool', tool_call_id: id, content: plainText(output.output) });
    }
    turn = null;
  };
  const openTurn = (): Turn => (turn ??= { texts: [], refusals: [], calls: [] });

  for (const { item } of placed) {
    const type = responseItemType(item);
    if (!isResponseItemType(type)) continue;
    switch (type) {
      case 'message': {
        const { role, content } = responseItemSchemas.message.parse(item);
        if (role === 'assistant') {
          addToTurn(openTurn(), content);
          break;
        }
        endTurn();
        messages.push({
          role: role === 'system' || role === 'developer' ? role : 'user',
          content: toUserContent(content),
        });
        break;
      }
      case 'function_call': {
        const { call_id: id, name, ...call } = responseItemSchemas.function_call.parse(item);
        openTurn().calls.push({
          id,
          type: 'function',
          function: { name, arguments: call.arguments },
          ...(call.extra_content === undefined ? {} : { extra_content: call.extra_content }),
        });
        break;
      }
      case 'function_call_output':
        endTurn();
        break;
      case 'reasoning':
      case 'item_reference':
        break;
    }
  }
  endTurn();

  for (const [first] of outputs.values())
    if (first !== undefined)
      throw invalidValue(
        `${first.param}.call_id`,
        'the input has no function_call with this call_id that waits for an output.',
      );
  if (messages.length === 0) throw invalidValue('input', 'must have a message.');
  return messages;
};

/** Outputs by call id, in order, since some models repeat an id in a later turn. */
const gatherOutputs = (placed: readonly PlacedItem[]) =>
  Map.groupBy(
    placed
      .filter(({ item }) => responseItemType(item) === 'function_call_output')
      .map(({ item, param }) => ({ ...responseItemSchemas.function_call_output.parse(item), param })),
    ({ call_id: id }) => id,
  );

const addToTurn = ({ texts, refusals }: Turn, content: ResponseContent): void => {
  const text = plainText(content);
  if (text !== '') texts.push(text);
  if (typeof content === 'string') return;
  for (const part of content) if (typeof part['refusal'] === 'string') refusals.push(part['refusal']);
};

const toAssistantMessage = ({ texts, refusals, calls }: Turn): TextMessage => ({
  role: 'assistant',
  content: texts.length === 0 && calls.length + refusals.length > 0 ? null : texts.join('\n\n'),
  ...(refusals.length === 0 ? {} : { refusal: refusals.join('\n\n') }),
  ...(calls.length === 0 ? {} : { tool_calls: calls }),
});

const texts = (content: Exclude<ResponseContent, string>): string[] =>
  content.map((part) => part['text']).filter((text) => typeof text === 'string');

/** Joins parts to one text, because few upstreams take parts here. */
const plainText = (content: ResponseContent): string =>
  typeof content === 'string' ? content : texts(content).join('');

/** Keeps a user's parts apart. A single text part becomes a plain text. */
const toUserContent = (content: ResponseContent): string | JsonObject[] => {
  if (typeof content === 'string') return content;
  const parts = texts(content);
  return parts.length > 1 ? parts.map((text) => ({ type: 'text', text })) : parts.join('');
};

/** The most earlier responses that one request may name. */
const maxResponses = 256;
/** The most stored text that is read for one request, as a multiple of the largest request. Results are larger than their items. */
const readFactor = 4;

/** An item to translate, and its field in the request. */
export interface PlacedItem {
  item: ResponseItem;
  param: string;
}

export const hasReferences = (items: readonly ResponseItem[]): boolean => items.some(isReference);

const isReference = (item: ResponseItem): boolean => responseItemType(item) === 'item_reference';

/**
 * Replaces references by the output items of the account's earlier responses. Throws AppError `invalid_value` for an
 * item that does not exist, and `input_too_large`.
 */
export const resolveReferences = async (
  items: readonly ResponseItem[],
  { store, accountId, maxBytes }: { store: Pick<Store, 'getJob'>; accountId: string; maxBytes: number },
): Promise<PlacedItem[]> => {
  /** By job and item. */
  const responses = new Map<string, ReadonlyMap<string, OutputItem>>();
  let read = 0;
  const load = async (jobId: string): Promise<ReadonlyMap<string, OutputItem>> => {
    const job = await store.getJob({ id: jobId, accountId });
    if (job?.kind !== 'responses' || job.status !== 'done' || job.unpaidBy !== null) return new Map();
    read += job.result?.length ?? 0;
    if (read > readFactor * maxBytes) throw tooLarge(maxBytes);
    return new Map(readResponse(job).output.map((item) => [item.id ?? '', item]));
  };

  const placed: PlacedItem[] = [];
  let bytes = 0;
  for (const [index, item] of items.entries()) {
    const param = `input.${index}`;
    if (!isReference(item)) {
      placed.push({ item, param });
      continue;
    }
    const { id } = responseItemSchemas.item_reference.parse(item);
    const jobId = jobIdOfItem(id);
    if (jobId !== null && !responses.has(jobId)) {
      if (responses.size >= maxResponses)
        throw invalidValue(`${param}.id`, `a request may name items of at most ${maxResponses} responses.`);
      responses.set(jobId, await load(jobId));
    }
    const found = responses.get(jobId ?? '')?.get(id);
    if (found === undefined)
      throw invalidValue(
        `${param}.id`,
        'this account has no finished response with such an output item. Send the item itself.',
      );
    bytes += Buffer.byteLength(JSON.stringify(found));
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    placed.push({ item: { ...found }, param });
  }
  return placed;
};
