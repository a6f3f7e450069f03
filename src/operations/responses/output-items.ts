import type OpenAI from 'openai';
import type { JsonObject } from '../../kit/json.ts';

type WithoutNumber<Event> = Event extends unknown ? Omit<Event, 'sequence_number'> : never;

/** An event of a response's output, before it is numbered. */
export type ResponseEvent = WithoutNumber<OpenAI.Responses.ResponseStreamEvent>;

export type OutputItem =
  | OpenAI.Responses.ResponseOutputMessage
  | FunctionCallItem
  | OpenAI.Responses.ResponseReasoningItem;

/** `extra_content` is beyond OpenAI's type: some upstreams require it back with the call in the next turn. */
export type FunctionCallItem = OpenAI.Responses.ResponseFunctionToolCall & { extra_content?: JsonObject };

export type ItemEnd = 'completed' | 'incomplete';

/** An output item that is being written. */
export interface OpenItem {
  readonly outputIndex: number;
  readonly first: OutputItem;
  close(end: ItemEnd): { events: ResponseEvent[]; item: OutputItem };
}

export interface CallItem extends OpenItem {
  add(piece: string, extraContent?: JsonObject): ResponseEvent[];
  /** Returns whether the arguments are a whole JSON object, so that nothing can follow. */
  isWhole(): boolean;
}

/** Writes a function call: its arguments come in pieces of JSON text. */
export const createCallItem = (
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

const isJsonObject = (text: string): boolean => {
  if (!text.trimEnd().endsWith('}')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    // The piece ends with the brace of an inner object: more follows.
    return false;
  }
};

export type PartType = 'output_text' | 'refusal' | 'reasoning_text';

type Part =
  | OpenAI.Responses.ResponseOutputText
  | OpenAI.Responses.ResponseOutputRefusal
  | OpenAI.Responses.ResponseReasoningItem.Content;

export interface TextItem extends OpenItem {
  readonly kind: 'message' | 'reasoning';
  /** Adds to the last part, or begins a new part when the last one has another type. */
  add(type: PartType, text: string): ResponseEvent[];
}

/** Writes a message or a reasoning item. Its parts follow each other, and each comes in pieces. */
export const createTextItem = (kind: TextItem['kind'], id: string, outputIndex: number): TextItem => {
  const parts: Part[] = [];
  let open: { type: PartType; pieces: string[] } | null = null;

  const item = (status: 'in_progress' | 'completed' | 'incomplete'): OutputItem =>
    kind === 'message'
      ? { id, type: 'message', role: 'assistant', status, content: parts.filter(isMessagePart) }
      : { id, type: 'reasoning', summary: [], content: parts.filter(isReasoningPart), status };

  const place = () => ({ item_id: id, output_index: outputIndex, content_index: parts.length });

  const openPart = (type: PartType): ResponseEvent => {
    open = { type, pieces: [] };
    return { type: 'response.content_part.added', ...place(), part: partOf(type, '') };
  };

  const closePart = (): ResponseEvent[] => {
    if (open === null) return [];
    const text = open.pieces.join('');
    const part = partOf(open.type, text);
    const events: ResponseEvent[] = [
      doneEvent(open.type, { ...place(), text }),
      { type: 'response.content_part.done', ...place(), part },
    ];
    parts.push(part);
    open = null;
    return events;
  };

  return {
    kind,
    outputIndex,
    first: item('in_progress'),
    add: (type, text) => {
      const events: ResponseEvent[] = open?.type === type ? [] : [...closePart(), openPart(type)];
      if (text === '') return events;
      open?.pieces.push(text);
      return [...events, deltaEvent(type, { ...place(), delta: text })];
    },
    close: (end) => {
      const events = closePart();
      return { events, item: item(end) };
    },
  };
};

const isReasoningPart = (part: Part): part is OpenAI.Responses.ResponseReasoningItem.Content =>
  part.type === 'reasoning_text';
const isMessagePart = (
  part: Part,
): part is OpenAI.Responses.ResponseOutputText | OpenAI.Responses.ResponseOutputRefusal =>
  part.type !== 'reasoning_text';

const partOf = (type: PartType, text: string): Part => {
  switch (type) {
    case 'output_text':
      return { type, text, annotations: [], logprobs: [] };
    case 'refusal':
      return { type, refusal: text };
    case 'reasoning_text':
      return { type, text };
  }
};

type Place = { item_id: string; output_index: number; content_index: number };

const deltaEvent = (type: PartType, at: Place & { delta: string }): ResponseEvent => {
  switch (type) {
    case 'output_text':
      return { type: 'response.output_text.delta', ...at, logprobs: [] };
    case 'refusal':
      return { type: 'response.refusal.delta', ...at };
    case 'reasoning_text':
      return { type: 'response.reasoning_text.delta', ...at };
  }
};

const doneEvent = (type: PartType, { text, ...at }: Place & { text: string }): ResponseEvent => {
  switch (type) {
    case 'output_text':
      return { type: 'response.output_text.done', ...at, text, logprobs: [] };
    case 'refusal':
      return { type: 'response.refusal.done', ...at, refusal: text };
    case 'reasoning_text':
      return { type: 'response.reasoning_text.done', ...at, text };
  }
};
