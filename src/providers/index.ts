import { z } from 'zod';
import type { ProviderConfig, ProviderDefinition, RouteConfig } from './provider.ts';
import { readRemote, remoteSettings, type RemoteConfig } from './remote-settings.ts';
import { tasksUrl } from './modelark/tasks-url.ts';
import type { TaskVideoOptions } from './video/task-video.ts';
import type { VideoProvider } from './video/video-provider.ts';

const listMs = 5_000;

const openAiProvider: ProviderDefinition<RemoteConfig> = {
  type: 'openai',
  text: 'chat, images and moderation by an OpenAI-compatible service; `base_url` ends with its version, such as `/v1`',
  settings: remoteSettings,
  serves: ['chat', 'image', 'moderation'],
  read: readRemote,
  check: ({ baseUrl, apiKey }) => ({ url: `${baseUrl}/models`, apiKey }),
  listModels: async (config, signal) => {
    const { createOpenAiClient } = await import('./openai/openai-client.ts');
    const client = createOpenAiClient({ ...config, timeouts: { ...config.timeouts, totalMs: listMs } });
    try {
      return await client.call(({ models }) => Array.fromAsync(models.list(), ({ id }) => id), signal);
    } finally {
      await client.close();
    }
  },
  create: async (config, context) => {
    const { outbound, counter } = context;
    const { createOpenAiClient } = await import('./openai/openai-client.ts');
    const { createOpenAiImage } = await import('./openai/openai-image.ts');
    const { createOpenAiModerator } = await import('./openai/openai-moderator.ts');
    const { createOpenAiText } = await import('./openai/openai-text.ts');
    const client = createOpenAiClient(config, context);
    return {
      chat: createOpenAiText({ client, counter }),
      image: createOpenAiImage({ client, outbound, totalMs: config.timeouts.totalMs }),
      moderation: (model) => createOpenAiModerator({ client, model }),
      close: () => client.close(),
    };
  },
};

/** The provider that needs no upstream: it makes example answers in this process, at no cost. */
const sandboxProvider: ProviderDefinition = {
  type: 'sandbox',
  text: 'chat, images and video without a model; a provider named `sandbox` is always there',
  settings: z.strictObject({}),
  serves: ['chat', 'image', 'video'],
  read: () => ({}),
  create: async (_config, { clock, counter, sandboxPieceDelayMs: pieceDelayMs }) => {
    const { createSandboxImage } = await import('./sandbox/sandbox-image.ts');
    const { createExampleMaker, createSandboxText } = await import('./sandbox/sandbox-text.ts');
    const { createSandboxVideo } = await import('./sandbox/sandbox-video.ts');
    const examples = createExampleMaker();
    const image = createSandboxImage();
    return {
      chat: createSandboxText({ counter, examples, ...(pieceDelayMs === undefined ? {} : { pieceDelayMs }) }),
      image,
      video: createSandboxVideo({ clock }),
      close: () => Promise.all([examples.close(), image.close()]),
    };
  },
};

/** Makes the definition of a provider whose videos are tasks of its service. */
const taskProvider = (
  parts: Pick<ProviderDefinition<RemoteConfig>, 'type' | 'text' | 'check'>,
  loadCreate: () => Promise<(options: TaskVideoOptions) => VideoProvider>,
): ProviderDefinition<RemoteConfig> => ({
  ...parts,
  settings: remoteSettings,
  serves: ['video'],
  read: readRemote,
  create: async (config, context) => {
    const createVideo = await loadCreate();
    const { createUpstream } = await import('./upstream.ts');
    const upstream = createUpstream(config, context);
    return { video: createVideo({ ...context, ...config, upstream }), close: () => upstream.close() };
  },
});

const modelarkProvider = taskProvider(
  {
    type: 'modelark',
    text: 'video by the task API of ModelArk; `base_url` may leave out `/api/v3`',
    check: ({ baseUrl, apiKey }) => ({ url: `${tasksUrl(baseUrl)}?page_size=1`, apiKey }),
  },
  async () => (await import('./modelark/modelark-video.ts')).createModelarkVideo,
);

const videosProvider = taskProvider(
  {
    type: 'videos',
    text: 'video in the `/v1/videos` form of resellers, such as another Causeway; `base_url` may leave out `/v1`',
    check: ({ baseUrl, apiKey }) => ({ url: `${baseUrl.replace(/\/v1$/, '')}/v1/models`, apiKey }),
  },
  async () => (await import('./reseller/reseller-video.ts')).createResellerVideo,
);

/** All types of providers. Settings, their documentation, the check at start and the wiring follow from this list. */
export const providerDefinitions: readonly [ProviderDefinition, ...ProviderDefinition[]] = [
  sandboxProvider,
  openAiProvider,
  modelarkProvider,
  videosProvider,
];

/** Throws TypeError for a type that is not in the list. */
export const definitionOf = ({ type }: ProviderConfig): ProviderDefinition => {
  const definition = providerDefinitions.find((one) => one.type === type);
  if (definition === undefined) throw new TypeError(`there is no provider type ${type}`);
  return definition;
};

/** Tells whether no real model is behind a provider's answers. */
export const isSandbox = ({ type }: ProviderConfig): boolean => type === sandboxProvider.type;

/** Tells whether only the sandbox serves a SKU: no real model answers, and it costs the operator nothing. */
export const isSandboxModel = (
  { routes }: { routes: readonly Pick<RouteConfig, 'provider'>[] },
  providers: Record<string, ProviderConfig>,
): boolean =>
  routes.every(({ provider }) => {
    const config = providers[provider];
    return config !== undefined && isSandbox(config);
  });

const withType = ({ type, text, settings }: ProviderDefinition) =>
  z.strictObject({ type: z.literal(type).describe(`\`${type}\`: ${text}`), ...settings.shape });
const [first, ...others] = providerDefinitions;

export const providersSection = z
  .record(
    z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/, 'must be a lower-case name'),
    z.discriminatedUnion('type', [withType(first), ...others.map(withType)]),
  )
  .default({})
  .describe('providers by name');

/** The providers by name. `sandbox` is always among them. Throws ConfigError with one line that names the setting. */
export const readProviders = (
  section: z.output<typeof providersSection>,
  environment: Record<string, string | undefined>,
): Record<string, ProviderConfig> => {
  const providers = Object.entries(section).map(([name, { type, ...settings }]) => {
    const read = definitionOf({ type }).read(settings, { setting: `providers.${name}`, environment });
    return [name, { type, ...read }] as const;
  });
  return { [sandboxProvider.type]: { type: sandboxProvider.type }, ...Object.fromEntries(providers) };
};
