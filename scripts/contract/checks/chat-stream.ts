import { expectEqual, expectError, expectHeader, expectThat } from '../assertions.ts';
import type { Check } from '../check.ts';
import { chatBody, chatSku, endOfJob, postChat, textLimit } from '../fixtures.ts';
import {
  chatId,
  count,
  exactly,
  expectShape,
  filledText,
  listOf,
  members,
  orNull,
  record,
  text,
  type JsonRecord,
} from '../shapes.ts';
import { textBound, type Suite } from '../suite.ts';
import { chatUsage } from './chat.ts';
import { parseData, readEvents } from './server-sent-events.ts';

const path = '/v1/chat/completions';

const chunkShape = members({
  id: chatId,
  object: exactly('chat.completion.chunk'),
  model: filledText,
  choices: listOf(members({ index: count, delta: record, finish_reason: orNull(text) })),
});

interface Chunk {
  id: string;
  model: string;
  choices: { delta: { role?: string; content?: string }; finish_reason: string | null }[];
  usage?: JsonRecord;
}

const chatStream = (suite: Suite) =>
  suite.once('chat stream', async () => {
    const answer = await postChat(suite, {
      body: chatBody(suite, { stream: true, stream_options: { include_usage: false } }),
    });
    const events = readEvents(answer);
    return { answer, events, chunks: events.slice(0, -1).map((event) => parseData(event) as Chunk) };
  });

export const chatStreamChecks: readonly Check[] = [
  {
    id: 'STRM-1',
    title: 'a stream is data lines with chunks of one id and model, ended by [DONE]',
    needs: ['chat'],
    run: async (suite) => {
      const { events, chunks } = await chatStream(suite);
      expectEqual(events.at(-1)?.data, '[DONE]', 'the last event');
      expectThat(
        events.every(({ event }) => event === null),
        'an event has a name',
      );
      for (const chunk of chunks) expectShape(chunk, chunkShape, 'a chunk');
      expectEqual(new Set(chunks.map(({ id }) => id)).size, 1, 'the number of ids');
      expectEqual([...new Set(chunks.map(({ model }) => model))], [chatSku(suite).id], 'the models');
    },
  },
  {
    id: 'STRM-2',
    title: 'role comes first, then content, then finish_reason',
    needs: ['chat'],
    run: async (suite) => {
      const { chunks } = await chatStream(suite);
      const choices = chunks.flatMap((chunk) => chunk.choices);
      expectEqual(choices[0]?.delta.role, 'assistant', 'the role of the first delta');
      expectThat(
        choices.some(({ delta }) => (delta.content ?? '') !== ''),
        'no delta has content',
      );
      expectEqual(
        choices.map(({ finish_reason: reason }) => reason !== null),
        choices.map((_choice, index) => index === choices.length - 1),
        'which choice has a finish_reason',
      );
    },
  },
  {
    id: 'STRM-3',
    title: 'the last JSON event has empty choices and the usage',
    needs: ['chat'],
    run: async (suite) => {
      const { chunks } = await chatStream(suite);
      expectShape(chunks.at(-1), members({ choices: exactly([]), usage: chatUsage }), 'the last chunk');
    },
  },
  {
    id: 'STRM-4',
    title: 'X-Chat-Completion-Id names the stream, whose job has the same text and usage',
    needs: ['chat'],
    run: async (suite) => {
      const { answer, chunks } = await chatStream(suite);
      const id = String(chunks[0]?.id);
      expectHeader(answer, 'x-chat-completion-id', id);
      const job = await endOfJob(suite, id.replace('chatcmpl-', ''));
      const response = job['response'] as { choices: { message: { content: string } }[]; usage: JsonRecord };
      const streamed = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? ''));
      expectEqual(streamed.join(''), response.choices[0]?.message.content, 'the streamed text');
      expectEqual(chunks.at(-1)?.usage, response.usage, 'the streamed usage');
    },
  },
  {
    id: 'STRM-5',
    title: 'a failure before the first chunk is a plain error answer',
    needs: ['chat', 'sandbox'],
    run: async (suite) => {
      const body = chatBody(suite, { stream: true, messages: [{ role: 'user', content: '[sandbox:fail]' }] });
      expectError(await suite.call(path, { body }), { status: 502, code: 'upstream_error' });
    },
  },
  {
    id: 'STRM-6',
    title: 'a client that disconnects does not stop the job',
    needs: ['chat'],
    run: async (suite) => {
      suite.spend(textBound(chatSku(suite), textLimit));
      const left = await suite.callAndLeave(path, { body: chatBody(suite, { stream: true }) });
      const id = expectHeader(left, 'x-chat-completion-id').replace('chatcmpl-', '');
      expectEqual((await endOfJob(suite, id))['status'], 'done', 'the end of the job');
    },
  },
];
