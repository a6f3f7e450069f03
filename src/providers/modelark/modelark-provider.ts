import type { ProviderDefinition } from '../provider.ts';
import { readRemote, remoteSettings, type RemoteConfig } from '../remote-settings.ts';
import { tasksUrl } from './tasks-url.ts';

/** The provider that asks ModelArk's API of generation tasks. */
export const modelarkProvider: ProviderDefinition<RemoteConfig> = {
  type: 'modelark',
  text: 'video by the task API of ModelArk; `base_url` may leave out `/api/v3`',
  settings: remoteSettings,
  serves: ['video'],
  read: readRemote,
  check: ({ baseUrl, apiKey }) => ({ url: `${tasksUrl(baseUrl)}?page_size=1`, apiKey }),
  create: async (config, context) => {
    const { createModelarkVideo } = await import('./modelark-video.ts');
    const { createUpstream } = await import('../upstream.ts');
    const upstream = createUpstream(config, context);
    return {
      video: createModelarkVideo({ ...context, ...config, upstream }),
      close: () => upstream.close(),
    };
  },
};
