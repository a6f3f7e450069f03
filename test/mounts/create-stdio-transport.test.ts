import { describe, expect, it, onTestFinished } from 'vitest';
import { silentLog } from '../../src/kit/log.ts';
import { createStdioTransport } from '../../src/mounts/create-stdio-transport.ts';
import { programTarget } from './mount-config.ts';

it('forgets a process after it was noted, though it ends at once', async () => {
  const order: string[] = [];
  const ended = Promise.withResolvers<void>();
  const transport = createStdioTransport(
    { kind: 'stdio', command: 'true', args: [], env: {}, sandbox: null },
    {
      log: silentLog,
      groups: {
        note: async () => {
          await ended.promise;
          order.push('noted');
        },
        forget: async () => void order.push('forgotten'),
      },
    },
  );
  Object.assign(transport, { onclose: () => ended.resolve() });
  await transport.start();
  await transport.close();
  expect(order).toEqual(['noted', 'forgotten']);
});

/**
 * A program that answers a request after as many messages about progress as it asks for, with its own token or another, or
 * with a long line of the form that it asks for.
 */
const teller = `
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, params } = JSON.parse(line);
    if (params.form !== undefined)
      return process.stdout.write(params.form.replace('ID', id).replace('TEXT', 'x'.repeat(3_000_000)) + '\\n');
    const message = 'x'.repeat(params.characters ?? 0);
    const progressToken = params.isForeign ? id + 1 : id;
    const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
    for (let progress = 1; progress <= params.times; progress += 1)
      write({ method: 'notifications/progress', params: { progressToken, progress, message } });
    write({ id, result: {} });
  });
`;

/** Asks the program, and returns what comes first: its answers to all requests, or the error that ends it. */
const askTeller = async (
  requests: { times?: number; isForeign?: boolean; characters?: number; form?: string }[],
): Promise<string> => {
  const transport = createStdioTransport(programTarget('-e', teller), {
    log: silentLog,
    groups: { note: async () => undefined, forget: async () => undefined },
  });
  onTestFinished(() => transport.close());
  const end = Promise.withResolvers<string>();
  let answers = 0;
  Object.assign(transport, {
    onmessage: (message: object) => {
      if ('result' in message) answers += 1;
      if (answers === requests.length) end.resolve('answered');
    },
    onerror: ({ message }: Error) => end.resolve(message),
  });
  await transport.start();
  for (const [id, params] of requests.entries())
    await transport.send({ jsonrpc: '2.0', id, method: 'tools/call', params });
  return end.promise;
};

describe('progress', () => {
  const often = { times: 9_000 };

  it('of calls is heard however many they are, up to a bound for each', async () => {
    expect(await askTeller([often, often])).toBe('answered');
  });

  it.each([
    ['beyond the bound of a call', { times: 16_000 }],
    ['of no open call', { ...often, isForeign: true }],
  ])('%s ends the server', async (_what, request) => {
    expect(await askTeller([request])).toBe('the server sent more than 5000 unasked messages in a minute');
  });

  it('of many characters ends the server', async () => {
    expect(await askTeller([{ times: 40, characters: 1_900_000 }])).toBe(
      'the server sent more than 67108864 characters in a minute',
    );
  });
});

it.each([
  '{"jsonrpc":"2.0","id":ID,"result":{"text":"TEXT"}}',
  '{"jsonrpc": "2.0", "id": ID, "result": {"text": "TEXT"}}',
  '{ "id" : ID, "jsonrpc": "2.0", "result": {"text": "TEXT"}}',
  '{"result": {"text": "TEXT"}, "jsonrpc": "2.0", "id": ID }',
])('an answer that is too long ends its own call alone: %s', async (form) => {
  expect(await askTeller([{ form }, { times: 1 }])).toBe('answered');
});
