import type { JsonObject } from '../../kit/json.ts';
import type { FunctionCallItem, OpenItem, ResponseEvent } from './response-event.ts';

export interface CallItem extends OpenItem {
  add(piece: string, extraContent?: JsonObject): ResponseEvent[];
  /** Returns whether the arguments are a whole JSON object, so that nothing can follow. */
  isWhole(): boolean;
}

/** Writes a function call: its arguments come in pieces of JSON text. */
export const createCallItem = ({
  id,
  callId,
  name,
  extraContent,
  outputIndex,
}: {
  id: string;
  callId: string;
  name: string;
  extraContent: JsonObject | undefined;
  outputIndex: number;
}): CallItem => {
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
      return piece === ''
        ? []
        : [
            {
              type: 'response.function_call_arguments.delta',
              item_id: id,
              output_index: outputIndex,
              delta: piece,
            },
          ];
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
