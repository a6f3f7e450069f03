import { longestAnswer } from '../chat/run-text-job.ts';
import type { JobEvent } from '../../jobs/executor.ts';
import {
  createCallItem,
  createTextItem,
  type CallItem,
  type ItemEnd,
  type OpenItem,
  type OutputItem,
  type ResponseEvent,
  type PartType,
  type TextItem,
} from './output-items.ts';
import { outputItemId } from './response-object.ts';

/** The length of an item beside its text, so that an answer of empty items is limited too. */
const lengthPerItem = 256;

const partTypes = {
  content: 'output_text',
  refusal: 'refusal',
  reasoning: 'reasoning_text',
} as const satisfies Record<Exclude<JobEvent['type'], 'tool_call'>, PartType>;

/**
 * Assembles the pieces of an answer into output items, and returns the stream events of each step. The same pieces always
 * give the same items and events, so the job's end and every reader's stream agree.
 */
export interface ResponseOutput {
  /** Throws RangeError when the answer grows beyond any allowed length. */
  add(piece: JobEvent): ResponseEvent[];
  /** Closes the open items. */
  end(end: ItemEnd): ResponseEvent[];
  items(): OutputItem[];
}

export const createResponseOutput = (jobId: string): ResponseOutput => {
  const items: OutputItem[] = [];
  const callIds = new Set<string>();
  /** Calls by the upstream's index. Null: the call has ended. */
  const calls = new Map<number, CallItem | null>();
  let text: TextItem | null = null;
  let length = 0;

  const grow = (by: number): void => {
    length += by;
    if (length > longestAnswer) throw new RangeError('the upstream answer has no end');
  };

  const begin = ({ first, outputIndex }: OpenItem): ResponseEvent => {
    grow(lengthPerItem);
    items.push(first);
    return { type: 'response.output_item.added', output_index: outputIndex, item: first };
  };

  const close = (open: OpenItem, end: ItemEnd): ResponseEvent[] => {
    const { events, item } = open.close(end);
    items[open.outputIndex] = item;
    return [...events, { type: 'response.output_item.done', output_index: open.outputIndex, item }];
  };

  const closeText = (): ResponseEvent[] => {
    if (text === null) return [];
    const events = close(text, 'completed');
    text = null;
    return events;
  };

  /** Closes the calls that are whole when another item begins. Upstreams may mix the pieces of several calls. */
  const closeWholeCalls = (): ResponseEvent[] =>
    [...calls].flatMap(([index, call]) => {
      if (call === null || !call.isWhole()) return [];
      calls.set(index, null);
      return close(call, 'completed');
    });

  const openText = (kind: TextItem['kind']): [TextItem, ResponseEvent] => {
    const outputIndex = items.length;
    const id = outputItemId(kind === 'message' ? 'msg' : 'rs', jobId, outputIndex);
    text = createTextItem(kind, id, outputIndex);
    return [text, begin(text)];
  };

  const addText = (kind: TextItem['kind'], type: PartType, piece: string): ResponseEvent[] => {
    if (text?.kind === kind) return text.add(type, piece);
    const before = [...closeText(), ...closeWholeCalls()];
    const [opened, added] = openText(kind);
    return [...before, added, ...opened.add(type, piece)];
  };

  /** Returns a unique `call_id`, by which clients match outputs. Some upstreams leave it empty or repeat it. */
  const uniqueCallId = (id: string | undefined, outputIndex: number): string => {
    const isFree = id !== undefined && id !== '' && !callIds.has(id);
    const unique = isFree ? id : `call_${jobId.replaceAll('-', '')}_${outputIndex}`;
    callIds.add(unique);
    return unique;
  };

  const addCall = (piece: JobEvent & { type: 'tool_call' }): ResponseEvent[] => {
    const known = calls.get(piece.index);
    // Only white space can follow whole arguments.
    if (known === null) return [];
    if (known !== undefined) return known.add(piece.arguments, piece.extraContent);
    const before = [...closeText(), ...closeWholeCalls()];
    const outputIndex = items.length;
    const opened = createCallItem(
      { id: outputItemId('fc', jobId, outputIndex), name: piece.name ?? '', outputIndex },
      uniqueCallId(piece.id, outputIndex),
      piece.extraContent,
    );
    calls.set(piece.index, opened);
    return [...before, begin(opened), ...opened.add(piece.arguments)];
  };

  return {
    items: () => items,
    add: (piece) => {
      if (piece.type === 'tool_call') {
        grow(piece.arguments.length);
        if (piece.extraContent !== undefined) grow(JSON.stringify(piece.extraContent).length);
        return addCall(piece);
      }
      grow(piece.text.length);
      return addText(piece.type === 'reasoning' ? 'reasoning' : 'message', partTypes[piece.type], piece.text);
    },
    end: (end) => {
      // Readers expect a message, so an answer without words is an empty one.
      const words = items.length === 0 ? addText('message', 'output_text', '') : [];
      // In output order: an open text item began after all open calls.
      const open: OpenItem[] = [...calls.values()].filter((call) => call !== null);
      if (text !== null) open.push(text);
      calls.clear();
      text = null;
      return [...words, ...open.flatMap((one) => close(one, end))];
    },
  };
};
