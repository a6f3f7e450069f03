import type OpenAI from 'openai';
import type { OpenItem, OutputItem, ResponseEvent } from './response-event.ts';

/** A part of a message, or of reasoning. */
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
export const createTextItem = ({
  kind,
  id,
  outputIndex,
}: {
  kind: 'message' | 'reasoning';
  id: string;
  outputIndex: number;
}): TextItem => {
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
      const closed = item(end);
      return { events, item: closed };
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

interface Place {
  item_id: string;
  output_index: number;
  content_index: number;
}

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
