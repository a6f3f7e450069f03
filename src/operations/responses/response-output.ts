import type OpenAI from 'openai';
import type { JobEvent } from '../../jobs/executor.ts';
import { type JsonObject, parseJson } from '../../kit/json.ts';
import { longestAnswer } from '../chat/text-job.ts';

/** The length of an item beside its text, so that an answer of empty items is limited too. */
const lengthPerItem = 256;

export type ResponseOutput = ReturnType<typeof createResponseOutput>;

/**
 * Assembles the pieces of an answer into output items, and returns the stream events of each step. The same pieces always
 * give the same items and events, so the job's end and every reader's stream agree.
 */
export const createResponseOutput = (jobId: string) => {
  const { items, grow, begin, close } = createItemList();
  const toCallId = createCallIds(jobId);
  /** Calls by the upstream's index. Null: the call has ended. */
  const calls = new Map<number, CallItem | null>();
  let text: TextItem | null = null;

  /** Closes the open text, and the calls that are whole: upstreams may mix the pieces of several calls. */
  const closeWhole = (): ResponseEvent[] => {
    const events = text === null ? [] : close(text, 'completed');
    text = null;
    for (const [index, call] of calls)
      if (call?.isWhole() === true) {
        calls.set(index, null);
        events.push(...close(call, 'completed'));
      }
    return events;
  };

  const addText = (kind: TextKind, piece: string): ResponseEvent[] => {
    const itemKind = kind === 'reasoning' ? 'reasoning' : 'message';
    if (text?.kind === itemKind) return text.add(kind, piece);
    const before = closeWhole();
    const id = outputItemId(itemKind === 'message' ? 'msg' : 'rs', jobId, items.length);
    const opened = createTextItem(itemKind, id, items.length);
    text = opened;
    return [...before, begin(opened), ...opened.add(kind, piece)];
  };

  const addCall = (piece: JobEvent & { type: 'tool_call' }): ResponseEvent[] => {
    const known = calls.get(piece.index);
    // Only white space can follow whole arguments.
    if (known === null) return [];
    if (known !== undefined) return known.add(piece.arguments, piece.extraContent);
    const before = closeWhole();
    const outputIndex = items.length;
    const opened = createCallItem(
      { id: outputItemId('fc', jobId, outputIndex), name: piece.name ?? '', outputIndex },
      toCallId(piece.id, outputIndex),
      piece.extraContent,
    );
    calls.set(piece.index, opened);
    return [...before, begin(opened), ...opened.add(piece.arguments)];
  };

  return {
    items: (): OutputItem[] => items,
    /** Throws RangeError when the answer grows beyond any allowed length. */
    add: (piece: JobEvent): ResponseEvent[] => {
      if (piece.type !== 'tool_call') {
        grow(piece.text.length);
        return addText(piece.type, piece.text);
      }
      grow(piece.arguments.length);
      if (piece.extraContent !== undefined) grow(JSON.stringify(piece.extraContent).length);
      return addCall(piece);
    },
    /** Closes the open items. */
    end: (end: ItemEnd): ResponseEvent[] => {
      // Readers expect a message, so an answer without words is an empty one.
      const words = items.length === 0 ? addText('content', '') : [];
      // In output order: an open text item began after all open calls.
      const open = [...calls.values(), text].filter((item) => item !== null);
      calls.clear();
      text = null;
      return [...words, ...open.flatMap((item) => close(item, end))];
    },
  };
};

/** Creates the list of the items, whose size is limited. */
const createItemList = () => {
  const items: OutputItem[] = [];
  let length = 0;
  const grow = (by: number): void => {
    length += by;
    if (length > longestAnswer) throw new RangeError('the upstream answer has no end');
  };
  return {
    items,
    grow,
    begin: ({ first, outputIndex }: OpenItem): ResponseEvent => {
      grow(lengthPerItem);
      items.push(first);
      return { type: 'response.output_item.added', output_index: outputIndex, item: first };
    },
    close: ({ outputIndex, close }: OpenItem, end: ItemEnd): ResponseEvent[] => {
      const { events, item } = close(end);
      items[outputIndex] = item;
      return [...events, { type: 'response.output_item.done', output_index: outputIndex, item }];
    },
  };
};

/** Returns unique `call_id`s, by which clients match outputs. Some upstreams leave them empty or repeat them. */
const createCallIds = (jobId: string) => {
  const used = new Set<string>();
  return (id: string | undefined, outputIndex: number): string => {
    const isFree = id !== undefined && id !== '' && !used.has(id);
    const unique = isFree ? id : `call_${jobId.replaceAll('-', '')}_${outputIndex}`;
    used.add(unique);
    return unique;
  };
};

type WithoutNumber<Event> = Event extends unknown ? Omit<Event, 'sequence_number'> : never;

/** An event of a response's output, before it is numbered. */
export type ResponseEvent = WithoutNumber<OpenAI.Responses.ResponseStreamEvent>;

export type OutputItem =
  | OpenAI.Responses.ResponseOutputMessage
  | FunctionCallItem
  | OpenAI.Responses.ResponseReasoningItem;

/** `extra_content` is beyond OpenAI's type: some upstreams require it back with the call in the next turn. */
type FunctionCallItem = OpenAI.Responses.ResponseFunctionToolCall & { extra_content?: JsonObject };

export type ItemEnd = 'completed' | 'incomplete';

/** An output item that is being written. */
interface OpenItem {
  readonly outputIndex: number;
  readonly first: OutputItem;
  close(end: ItemEnd): { events: ResponseEvent[]; item: OutputItem };
}

interface CallItem extends OpenItem {
  add(piece: string, extraContent?: JsonObject): ResponseEvent[];
  /** Returns whether the arguments are a whole JSON object, so that nothing can follow. */
  isWhole(): boolean;
}

/** Writes a function call: its arguments come in pieces of JSON text. */
const createCallItem = (
  { id, name, outputIndex }: { id: string; name: string; outputIndex: number },
  callId: string,
  extraContent: JsonObject | undefined,
): CallItem => {
  let extra = extraContent;
  let text = '';
  let known: { length: number; isWhole: boolean } = { length: 0, isWhole: false };

  const item = (status: 'in_progress' | 'completed' | 'incomplete'): FunctionCallItem => ({
    id,
    type: 'function_call',
    call_id: callId,
    name,
    arguments: text,
    status,
    ...(extra === undefined ? {} : { extra_content: extra }),
  });
  const isWhole = (): boolean => {
    if (known.length !== text.length) known = { length: text.length, isWhole: isJsonObject(text) };
    return known.isWhole;
  };

  return {
    outputIndex,
    first: item('in_progress'),
    isWhole,
    add: (piece, laterExtra) => {
      text += piece;
      extra = laterExtra ?? extra;
      if (piece === '') return [];
      const place = { item_id: id, output_index: outputIndex };
      return [{ type: 'response.function_call_arguments.delta', ...place, delta: piece }];
    },
    close: (end) => {
      const done = { item_id: id, output_index: outputIndex, name, arguments: text };
      return {
        events: [{ type: 'response.function_call_arguments.done', ...done }],
        item: item(end === 'incomplete' && isWhole() ? 'completed' : end),
      };
    },
  };
};

/** After the brace of an inner object, more follows. */
const isJsonObject = (text: string): boolean => text.trimEnd().endsWith('}') && parseJson(text) !== undefined;

type TextKind = 'content' | 'refusal' | 'reasoning';

type Part =
  | OpenAI.Responses.ResponseOutputText
  | OpenAI.Responses.ResponseOutputRefusal
  | OpenAI.Responses.ResponseReasoningItem.Content;

type Place = { item_id: string; output_index: number; content_index: number };

interface TextForm {
  part(text: string): Part;
  delta(place: Place, delta: string): ResponseEvent;
  done(place: Place, text: string): ResponseEvent;
}

const textForms: Record<TextKind, TextForm> = {
  content: {
    part: (text) => ({ type: 'output_text', text, annotations: [], logprobs: [] }),
    delta: (place, delta) => ({ type: 'response.output_text.delta', ...place, delta, logprobs: [] }),
    done: (place, text) => ({ type: 'response.output_text.done', ...place, text, logprobs: [] }),
  },
  refusal: {
    part: (refusal) => ({ type: 'refusal', refusal }),
    delta: (place, delta) => ({ type: 'response.refusal.delta', ...place, delta }),
    done: (place, refusal) => ({ type: 'response.refusal.done', ...place, refusal }),
  },
  reasoning: {
    part: (text) => ({ type: 'reasoning_text', text }),
    delta: (place, delta) => ({ type: 'response.reasoning_text.delta', ...place, delta }),
    done: (place, text) => ({ type: 'response.reasoning_text.done', ...place, text }),
  },
};

interface TextItem extends OpenItem {
  readonly kind: 'message' | 'reasoning';
  /** Adds to the last part, or begins a new part when the last one has another kind. */
  add(kind: TextKind, text: string): ResponseEvent[];
}

/** Writes a message or a reasoning item. Its parts follow each other, and each comes in pieces. */
const createTextItem = (kind: TextItem['kind'], id: string, outputIndex: number): TextItem => {
  const parts: Part[] = [];
  let open: { kind: TextKind; pieces: string[] } | null = null;

  const item = (status: 'in_progress' | 'completed' | 'incomplete'): OutputItem =>
    kind === 'message'
      ? { id, type: 'message', role: 'assistant', status, content: parts.filter(isMessagePart) }
      : { id, type: 'reasoning', summary: [], content: parts.filter(isReasoningPart), status };

  const place = (): Place => ({ item_id: id, output_index: outputIndex, content_index: parts.length });

  const closePart = (): ResponseEvent[] => {
    if (open === null) return [];
    const text = open.pieces.join('');
    const form = textForms[open.kind];
    const part = form.part(text);
    const events = [
      form.done(place(), text),
      { type: 'response.content_part.done' as const, ...place(), part },
    ];
    parts.push(part);
    open = null;
    return events;
  };

  return {
    kind,
    outputIndex,
    first: item('in_progress'),
    add: (textKind, text) => {
      const form = textForms[textKind];
      const events: ResponseEvent[] = [];
      if (open?.kind !== textKind) {
        events.push(...closePart());
        open = { kind: textKind, pieces: [] };
        events.push({ type: 'response.content_part.added', ...place(), part: form.part('') });
      }
      if (text === '') return events;
      open.pieces.push(text);
      return [...events, form.delta(place(), text)];
    },
    close: (end) => {
      const events = closePart();
      return { events, item: item(end) };
    },
  };
};

const isReasoningPart = (part: Part): part is OpenAI.Responses.ResponseReasoningItem.Content =>
  part.type === 'reasoning_text';
const isMessagePart = (part: Part): part is Exclude<Part, OpenAI.Responses.ResponseReasoningItem.Content> =>
  part.type !== 'reasoning_text';

/** The kind of an output item, at the beginning of its id. */
type ItemPrefix = 'msg' | 'fc' | 'rs';

/** Returns the id of an output item. It contains the job id, so that a reference finds the response. */
export const outputItemId = (prefix: ItemPrefix, jobId: string, outputIndex: number): string =>
  `${prefix}_${jobId}_${outputIndex}`;
