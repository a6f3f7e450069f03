import { afterAll, beforeAll, beforeEach } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import { createOpenAiClient, type OpenAiClient } from '../../../src/providers/openai/openai-client.ts';
import { createOpenAiText } from '../../../src/providers/openai/openai-text.ts';
import type { ProviderTimeouts } from '../../../src/providers/remote-settings.ts';
import type { TextEvent, TextProvider, TextRequest } from '../../../src/providers/text/text-provider.ts';
import { createTokenCounter } from '../../../src/providers/tokens/token-counter.ts';
import { collect, noAbort } from '../collect.ts';
import { shortChat, startStubUpstream, type StubUpstream } from '../stub-upstream.ts';

const patient: ProviderTimeouts = {
  connectMs: 5_000,
  firstByteMs: 20_000,
  idleMs: 20_000,
  totalMs: 25_000,
};

export const request: TextRequest = {
  model: 'upstream-model',
  messages: [{ role: 'user', content: 'Say hello' }],
  maxOutputTokens: 50,
  options: {},
  isWhole: false,
};

/** The events of an answer. */
export const told = (text: TextProvider, asked = request, signal = noAbort()): Promise<TextEvent[]> =>
  collect((emit) => text.answer(asked, { signal, emit }));

/** A stub upstream for all tests of a file, and texts that ask it. */
export const useStub = () => {
  const counter = createTokenCounter({ log: silentLog });
  const opened: OpenAiClient[] = [];
  const used = {} as { stub: StubUpstream };
  beforeAll(async () => {
    used.stub = await startStubUpstream();
  });
  beforeEach(() => used.stub.setDefault(shortChat));
  afterAll(async () => {
    await Promise.all(opened.map((client) => client.close()));
    await counter.close();
    await used.stub.close();
  });
  const createText = (
    timeouts: Partial<ProviderTimeouts> = {},
    apiKey: string | null = 'sk-upstream',
    baseUrl = used.stub.baseUrl,
  ): TextProvider => {
    const client = createOpenAiClient({ baseUrl, apiKey, timeouts: { ...patient, ...timeouts } });
    opened.push(client);
    return createOpenAiText({ client, counter });
  };
  return Object.assign(used, { createText });
};
