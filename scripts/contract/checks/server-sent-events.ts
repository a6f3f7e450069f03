import { expectHeader, expectStatus } from '../assertions.ts';
import { Mismatch } from '../outcomes.ts';
import type { Answer } from '../client.ts';

export interface SentEvent {
  event: string | null;
  data: string;
}

/** Returns the events of a streamed answer. Throws Mismatch if it is not a stream. */
export const readEvents = (answer: Answer): SentEvent[] => {
  expectStatus(answer, 200);
  expectHeader(answer, 'content-type', /^text\/event-stream\b/);
  return answer.bytes
    .toString('utf8')
    .split('\n\n')
    .filter((block) => block.trim() !== '')
    .flatMap((block) => {
      const lines = block.split('\n').filter((line) => !line.startsWith(':'));
      if (lines.length === 0) return [];
      const field = (name: string): string[] =>
        lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
      const data = field('data');
      if (data.length === 0) throw new Mismatch(`an event without data: ${block.slice(0, 200)}`);
      return [{ event: field('event')[0] ?? null, data: data.join('\n') }];
    });
};

export const parseData = ({ data }: SentEvent): unknown => {
  try {
    return JSON.parse(data);
  } catch (error) {
    throw new Mismatch(`an event's data is not JSON: ${data.slice(0, 200)}`, { cause: error });
  }
};
