import type { ProviderDefinition } from '../provider.ts';
import { readRemote, remoteSettings, type RemoteConfig } from '../remote-settings.ts';

/** The provider that asks a reseller's `/v1/videos`. */
export const videosProvider: ProviderDefinition<RemoteConfig> = {
  type: 'videos',
  text: 'video in the `/v1/videos` form of resellers, such as another Causeway; `base_url` may leave out `/v1`',
  settings: remoteSettings,
  serves: ['video'],
  read: readRemote,
  check: ({ baseUrl, apiKey }) => ({ url: `${baseUrl.replace(/\/v1$/, '')}/v1/models`, apiKey }),
  create: async (config, context) => {
    const { createResellerVideo } = await import('./reseller-video.ts');
    const { createUpstream } = await import('../upstream.ts');
    const upstream = createUpstream(config, context);
    return {
      video: createResellerVideo({ ...context, ...config, upstream }),
      close: () => upstream.close(),
    };
  },
};
