import type { ProviderDefinition } from '../provider.ts';
import { readRemote, remoteSettings, type RemoteConfig } from '../remote-settings.ts';

const listMs = 5_000;

/** The provider that asks an OpenAI-compatible service. */
export const openAiProvider: ProviderDefinition<RemoteConfig> = {
  type: 'openai',
  text: 'chat, images and moderation by an OpenAI-compatible service; `base_url` ends with its version, such as `/v1`',
  settings: remoteSettings,
  serves: ['chat', 'image', 'moderation'],
  read: readRemote,
  check: ({ baseUrl, apiKey }) => ({ url: `${baseUrl}/models`, apiKey }),
  listModels: async (config, signal) => {
    const { createOpenAiClient } = await import('./openai-client.ts');
    const client = createOpenAiClient({ ...config, timeouts: { ...config.timeouts, totalMs: listMs } });
    try {
      return await client.call(({ models }) => Array.fromAsync(models.list(), ({ id }) => id), signal);
    } finally {
      await client.close();
    }
  },
  create: async (config, context) => {
    const { outbound, counter } = context;
    const { createOpenAiClient } = await import('./openai-client.ts');
    const { createOpenAiImage } = await import('./openai-image.ts');
    const { createOpenAiModerator } = await import('./openai-moderator.ts');
    const { createOpenAiText } = await import('./openai-text.ts');
    const client = createOpenAiClient(config, context);
    return {
      chat: createOpenAiText({ client, counter }),
      image: createOpenAiImage({ client, outbound, timeouts: config.timeouts }),
      moderation: (model) => createOpenAiModerator({ client, model }),
      close: () => client.close(),
    };
  },
};
