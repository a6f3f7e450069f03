import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { ConfigError } from '../kit/errors.ts';
import { keyFileSettings } from '../kit/key-files.ts';
import { leadsSection, leadsVariables, readLeads, type LeadsConfig } from '../leads/leads-settings.ts';
import { parseRate, parseUsd, type Nano, type Rate } from '../kit/money.ts';
import { findUnknown, refuseMisspelt } from './setting-names.ts';
import { unknownKey } from '../kit/unknown-key.ts';
import { plainUrl } from '../kit/url-settings.ts';
import {
  definitionOf,
  isSandboxModel,
  providerDefinitions,
  providersSection,
  readProviders,
} from '../providers/index.ts';
import { modelKinds, type ModelKind, type ProviderConfig, type RouteConfig } from '../providers/provider.ts';
import { videoResolutions, type VideoResolution } from '../providers/video/video-provider.ts';
import { readX402, x402Environment, x402FileSchema, type X402Config } from './x402-config.ts';

export type {
  AssetConfig,
  CdpKey,
  FacilitatorConfig,
  FacilitatorEndpoint,
  X402NetworkConfig,
} from './x402-config.ts';

/** Everything the gateway can be told, checked. Made once at start; see docs/configuration.md. */
export interface Config {
  host: string;
  port: number;
  /** The `{base_url}` of result URLs, documents and x402 resources, without a trailing slash. Null: from host and port. */
  publicUrl: string | null;
  dataDir: string;
  /** Results on disk; replicas that share a database share this folder too. Null: in `dataDir`. */
  mediaDir: string | null;
  /** Results in a bucket instead. */
  s3: S3Config | null;
  /** PostgreSQL; null keeps state in `dataDir`. */
  databaseUrl: string | null;
  redisUrl: string | null;
  brand: string;
  /** The API key that MCP over stdio acts with; null: none was named. */
  stdioKey: string | null;
  /** Variables that look like settings of ours and are none. */
  unknownVariables: string[];
  logLevel: string;
  /** How many proxies in front are ours; 0 takes the socket's address for the client's. */
  trustedProxyHops: number;
  /** Host names of foreign web pages whose scripts may call /mcp, beside our own and local ones. */
  allowedOrigins: string[];
  mediaRetentionMs: number;
  /** A request body above this many bytes is refused with 413. */
  maxBodyBytes: number;
  chatDeadlineMs: number;
  imageDeadlineMs: number;
  /** A Responses request above this many bytes of JSON is refused. */
  responsesMaxBytes: number;
  /** Calls of one account in a minute, over REST and MCP together. */
  requestsPerMinute: number;
  /** Videos of one account that may be queued or running. */
  activeVideos: number;
  /** Video contents that one process streams at once. */
  videoStreams: number;
  /** What request bodies under way may take of memory, in bytes. */
  bodyMemoryBytes: number;
  /** Whether new image jobs may ask for a callback. */
  acceptsWebhooks: boolean;
  /** For development: callbacks and inputs may also be on this machine, over plain HTTP. */
  allowsLoopbackUrls: boolean;
  /** How long SIGTERM waits for running answers. */
  drainMs: number;
  /** How many queued jobs one process runs at once. */
  queuedJobsAtOnce: number;
  /** How many video jobs one process watches at once; they mostly wait for their upstream. */
  videoJobsAtOnce: number;
  providers: Record<string, ProviderConfig>;
  models: ModelConfig[];
  /** Who looks at a video request with `nsfw_check`; null: its upstream, where that can. */
  moderation: RouteConfig | null;
  search: SearchConfig;
  leads: LeadsConfig;
  x402: X402Config;
}

export interface S3Config {
  /** The service's address without a trailing slash, such as `https://s3.eu-central-1.amazonaws.com`. */
  endpoint: string;
  bucket: string;
  /** Before every key; empty, or ends with a slash. */
  prefix: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}

export type Price =
  | { unit: 'token'; input: Rate; output: Rate }
  | { unit: 'call'; price: Nano }
  | { unit: 'second'; rates: ResolutionRate[] };

/** Prices of an output second. */
export interface ResolutionRate {
  resolution: VideoResolution;
  price: Nano;
  /** With reference videos; null: the SKU takes none at this resolution. */
  withVideoPrice: Nano | null;
}

export interface ModelConfig {
  sku: string;
  kind: ModelKind;
  price: Price;
  /** Of chat SKUs: the most output tokens that are held and asked of an upstream. */
  maxOutputTokens: number;
  /** In order of preference. */
  routes: RouteConfig[];
  /** Of video SKUs; null for others. */
  duration: DurationRule | null;
}

/** Which lengths a video SKU makes, in seconds. */
export interface DurationRule {
  minimum: number;
  maximum: number;
  /** Null: the caller must name one. */
  initial: number | null;
  /** Whether -1 edits a reference video, whose length the output keeps. */
  edits: boolean;
}

export interface SearchConfig {
  /** False where there is nothing to search, or no network to be paid on. */
  isOn: boolean;
  pricing: 'dynamic' | 'flat';
  maxLimit: number;
  /** Whether a search without a match is charged. */
  chargeEmpty: boolean;
  ratePerMinute: number;
  /** Profiles of the data set that is generated where the embedded index is alone and holds none; 0: none is. */
  syntheticProfiles: number;
}

const integer = (minimum: number, maximum: number, initial: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(minimum).max(maximum))
    .default(initial);
const flag = (initial: boolean) =>
  z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .default(initial);
const environmentSchema = z.object({
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: integer(0, 65_535, 8402),
  PUBLIC_URL: plainUrl.optional(),
  DATA_DIR: z.string().min(1).default('./data'),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' }).optional(),
  REDIS_URL: z.url({ protocol: /^rediss?$/, error: 'must be a redis:// URL' }).optional(),
  BRAND: z
    .string()
    .regex(/^[a-z]{2,20}$/, 'must be 2 to 20 lower-case letters')
    .default('causeway'),
  CAUSEWAY_API_KEY: z.string().optional(),
  // Read before all others, as it names the file; it is here for its name.
  CAUSEWAY_CONFIG: z.string().optional(),
  // Set by our own launcher.
  CAUSEWAY_LAUNCHED: z.string().optional(),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  TRUSTED_PROXY_HOPS: integer(0, 10, 0),
  ALLOWED_ORIGINS: z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim().toLowerCase()))
    .pipe(z.array(z.string().regex(/^[a-z0-9.-]+$/, 'must be host names divided by commas')))
    .default([]),
  MEDIA_RETENTION_DAYS: integer(1, 3650, 30),
  MAX_BODY_BYTES: integer(1024, 1024 ** 3, 20 * 1024 ** 2),
  CHAT_DEADLINE_MS: integer(1, 3_600_000, 300_000),
  IMAGE_DEADLINE_MS: integer(1, 3_600_000, 60_000),
  DRAIN_MS: integer(0, 3_600_000, 30_000),
  QUEUED_JOBS_AT_ONCE: integer(1, 1_000, 16),
  VIDEO_JOBS_AT_ONCE: integer(1, 10_000, 64),
  RESPONSES_MAX_BYTES: integer(1024, 1024 ** 3, 4 * 1024 ** 2),
  REQUESTS_PER_MINUTE: integer(1, 1_000_000, 600),
  ACTIVE_VIDEOS: integer(1, 10_000, 5),
  VIDEO_STREAMS: integer(1, 10_000, 64),
  BODY_MEMORY_BYTES: integer(1024 ** 2, 1024 ** 4, 256 * 1024 ** 2),
  WEBHOOKS: z
    .enum(['on', 'off'])
    .transform((text) => text === 'on')
    .default(true),
  ALLOW_LOOPBACK_URLS: flag(false),
  MEDIA_DIR: z.string().min(1).optional(),
  MEDIA_URL: z
    .string()
    .regex(
      /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[\w./-]{0,200})?$/,
      'must be s3://BUCKET or s3://BUCKET/PREFIX',
    )
    .optional(),
  S3_ENDPOINT: plainUrl.optional(),
  S3_REGION: z
    .string()
    .regex(/^[a-z0-9-]{2,40}$/, 'must be a region name')
    .default('us-east-1'),
  S3_ACCESS_KEY_ID: z.string().min(1).optional(),
  S3_SECRET_ACCESS_KEY: z.string().min(1).optional(),
  SEARCH_PRICING: z.enum(['dynamic', 'flat']).default('dynamic'),
  SEARCH_MAX_LIMIT: integer(20, 100, 100),
  SEARCH_CHARGE_EMPTY: flag(false),
  SEARCH_RATE_PER_MINUTE: integer(1, 1_000_000, 60),
  SYNTHETIC_PROFILES: integer(0, 5_000_000, 20_000).refine(
    (profiles) => profiles === 0 || profiles >= 100,
    'must be 0, or 100 to 5000000',
  ),
  ...leadsVariables,
  ...x402Environment,
});

type Environment = z.infer<typeof environmentSchema>;

const settingNames = [...Object.keys(environmentSchema.shape), ...keyFileSettings];

const decimal = <T>(read: (text: string) => T) =>
  z.union([z.string(), z.number()]).transform((value, context) => {
    try {
      return read(String(value));
    } catch (error) {
      context.addIssue({
        code: 'custom',
        message: error instanceof Error ? error.message : 'is not a decimal',
      });
      return z.NEVER;
    }
  });

const usdAmount = decimal(parseUsd).pipe(z.bigint().min(0n));

/** A price as `causeway.yaml` and an account's own terms write it. */
export const priceSchema = z.discriminatedUnion('unit', [
  z
    .strictObject({
      unit: z.literal('token'),
      input_usd_per_1m: decimal(parseRate),
      output_usd_per_1m: decimal(parseRate),
    })
    .transform((price) => ({
      unit: price.unit,
      input: price.input_usd_per_1m,
      output: price.output_usd_per_1m,
    })),
  z
    .strictObject({ unit: z.literal('call'), price_usd: usdAmount })
    .transform((price) => ({ unit: price.unit, price: price.price_usd })),
  z
    .strictObject({
      unit: z.literal('second'),
      rates: z
        .array(
          z.strictObject({
            resolution: z.enum(videoResolutions),
            price_usd: usdAmount,
            with_video_price_usd: usdAmount.optional(),
          }),
        )
        .min(1)
        .refine((rates) => new Set(rates.map(({ resolution }) => resolution)).size === rates.length, {
          message: 'name a resolution twice',
        }),
    })
    .transform((price) => ({
      unit: price.unit,
      rates: price.rates.map((rate) => ({
        resolution: rate.resolution,
        price: rate.price_usd,
        withVideoPrice: rate.with_video_price_usd ?? null,
      })),
    })),
]);

const durationSchema = z
  .strictObject({
    min_seconds: z.int().min(1).max(3600),
    max_seconds: z.int().min(1).max(3600),
    default_seconds: z.int().optional(),
    edits: z.boolean().default(false),
  })
  .refine(
    ({ min_seconds: minimum, max_seconds: maximum, default_seconds: initial }) =>
      minimum <= maximum && (initial === undefined || (initial >= minimum && initial <= maximum)),
    { message: 'min_seconds, default_seconds and max_seconds must be in this order' },
  )
  .transform((rule) => ({
    minimum: rule.min_seconds,
    maximum: rule.max_seconds,
    initial: rule.default_seconds ?? null,
    edits: rule.edits,
  }));

const fileSchema = z.strictObject({
  providers: providersSection,
  models: z
    .record(
      z.string().min(1).max(128),
      z.strictObject({
        kind: z.enum(modelKinds),
        price: priceSchema,
        max_output_tokens: z.int().min(1).max(65_536).optional(),
        duration: durationSchema.optional(),
        routes: z.array(z.strictObject({ provider: z.string(), model: z.string().min(1).optional() })).min(1),
      }),
    )
    .refine((models) => Object.keys(models).length > 0, 'names no model; leave it out for the default ones')
    .optional(),
  moderation: z.strictObject({ provider: z.string(), model: z.string().min(1) }).optional(),
  leads: leadsSection,
  x402: x402FileSchema,
});

const defaultMaxOutputTokens = 16_384;

/** The SKUs of a gateway whose file names none: the contract's text and video models and an image model, by the sandbox. */
const defaultModels = (): ModelConfig[] => {
  const text = (sku: string, input: string, output: string): ModelConfig => ({
    sku,
    kind: 'chat',
    price: { unit: 'token', input: parseRate(input), output: parseRate(output) },
    maxOutputTokens: defaultMaxOutputTokens,
    routes: [{ provider: 'sandbox', model: sku }],
    duration: null,
  });
  const video = (sku: string, duration: DurationRule, rates: ResolutionRate[]): ModelConfig => ({
    sku,
    kind: 'video',
    price: { unit: 'second', rates },
    maxOutputTokens: defaultMaxOutputTokens,
    routes: [{ provider: 'sandbox', model: sku }],
    duration,
  });
  const rate = (resolution: VideoResolution, price: string, withVideo: string): ResolutionRate => ({
    resolution,
    price: parseUsd(price),
    withVideoPrice: parseUsd(withVideo),
  });
  return [
    text('textmodel-3.5-flash', '1.05', '6.30'),
    text('textmodel-3.1-flash-lite', '0.175', '1.05'),
    text('textmodel-3.1-pro', '1.40', '8.40'),
    text('textmodel-3.7-flash', '0.525', '2.625'),
    {
      sku: 'imagemodel-1.0',
      kind: 'image',
      price: { unit: 'call', price: parseUsd('0.04') },
      maxOutputTokens: defaultMaxOutputTokens,
      routes: [{ provider: 'sandbox', model: 'imagemodel-1.0' }],
      duration: null,
    },
    video('videomodel-2.0', { minimum: 4, maximum: 15, initial: 5, edits: false }, [
      rate('480p', '0.02', '0.012'),
      rate('720p', '0.04', '0.024'),
      rate('1080p', '0.09', '0.055'),
      rate('4k', '0.20', '0.12'),
    ]),
    video('videomodel-2.5', { minimum: 4, maximum: 30, initial: null, edits: true }, [
      rate('480p', '0.03', '0.018'),
      rate('720p', '0.06', '0.036'),
      rate('1080p', '0.13', '0.08'),
      rate('4k', '0.28', '0.17'),
    ]),
  ];
};

const firstIssue = (error: z.ZodError, source: string): ConfigError => {
  // A misspelt key is why another one is missing.
  const issue = error.issues.find(({ code }) => code === 'unrecognized_keys') ?? error.issues[0];
  const name = issue?.path.filter((part) => typeof part === 'string').join('.') ?? '';
  return new ConfigError(`${source}${name === '' ? '' : `${name}: `}${issue?.message ?? 'is wrong'}`);
};

const readFileSettings = (yamlText: string | null): z.infer<typeof fileSchema> => {
  let document: unknown;
  try {
    document = yamlText === null ? {} : (parseYaml(yamlText) ?? {});
  } catch (error) {
    throw new ConfigError(
      `causeway.yaml: ${error instanceof Error ? error.message.split('\n')[0] : 'is not YAML'}`,
    );
  }
  const parsed = fileSchema.safeParse(document, { error: unknownKey });
  if (!parsed.success) throw firstIssue(parsed.error, 'causeway.yaml: ');
  return parsed.data;
};

type FileSettings = z.infer<typeof fileSchema>;

/** The unit that each kind of SKU may be priced in. */
export const pricedBy: Record<ModelKind, readonly Price['unit'][]> = {
  chat: ['token', 'call'],
  image: ['call'],
  video: ['second'],
};

const readModels = (
  settings: FileSettings['models'],
  providers: Record<string, ProviderConfig>,
): ModelConfig[] => {
  if (settings === undefined) return defaultModels();
  return Object.entries(settings).map(([sku, model]) => {
    const named = new Set(model.routes.map((route) => isSandboxModel({ routes: [route] }, providers)));
    if (named.size > 1)
      throw new ConfigError(
        `causeway.yaml: models.${sku}.routes: names a real provider and the sandbox; nobody pays for what the sandbox made, so take one of them out, or give the sandbox a SKU of its own`,
      );
    if (!pricedBy[model.kind].includes(model.price.unit))
      throw new ConfigError(
        `causeway.yaml: models.${sku}.price.unit: a SKU of kind ${model.kind} is priced by ${pricedBy[model.kind].join(' or ')}`,
      );
    if ((model.kind === 'video') !== (model.duration !== undefined))
      throw new ConfigError(
        `causeway.yaml: models.${sku}.duration: must be there for a video SKU, and only for one`,
      );
    if (model.kind !== 'chat' && model.max_output_tokens !== undefined)
      throw new ConfigError(`causeway.yaml: models.${sku}.max_output_tokens: is for chat SKUs only`);
    return {
      sku,
      kind: model.kind,
      price: model.price,
      maxOutputTokens: model.max_output_tokens ?? defaultMaxOutputTokens,
      duration: model.duration ?? null,
      routes: model.routes.map((route) => {
        const provider = Object.hasOwn(providers, route.provider) ? providers[route.provider] : undefined;
        if (provider === undefined)
          throw new ConfigError(
            `causeway.yaml: models.${sku}.routes: there is no provider "${route.provider}"`,
          );
        if (!definitionOf(provider).serves.includes(model.kind))
          throw new ConfigError(
            `causeway.yaml: models.${sku}.routes: a provider of type ${provider.type} serves no ${model.kind} models`,
          );
        return { provider: route.provider, model: route.model ?? sku };
      }),
    };
  });
};

const readModeration = (
  settings: FileSettings['moderation'],
  providers: Record<string, ProviderConfig>,
): RouteConfig | null => {
  if (settings === undefined) return null;
  const types = providerDefinitions
    .filter(({ serves }) => serves.includes('moderation'))
    .map(({ type }) => type);
  const type = Object.hasOwn(providers, settings.provider) ? providers[settings.provider]?.type : undefined;
  if (type === undefined || !types.includes(type))
    throw new ConfigError(
      `causeway.yaml: moderation.provider: there is no provider "${settings.provider}" of type ${types.join(' or ')}`,
    );
  return settings;
};

const readS3 = (env: Environment): S3Config | null => {
  if (env.MEDIA_URL === undefined) {
    const stray = (['S3_ENDPOINT', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'] as const).find(
      (name) => env[name] !== undefined,
    );
    if (stray !== undefined)
      throw new ConfigError(`${stray}: goes with MEDIA_URL=s3://BUCKET, which is not set`);
    return null;
  }
  if (env.MEDIA_DIR !== undefined) throw new ConfigError('MEDIA_DIR: cannot be set beside MEDIA_URL');
  const required = (name: 'S3_ACCESS_KEY_ID' | 'S3_SECRET_ACCESS_KEY'): string => {
    const value = env[name];
    if (value === undefined) throw new ConfigError(`${name}: must be set beside MEDIA_URL`);
    return value;
  };
  const [bucket = '', ...path] = env.MEDIA_URL.slice('s3://'.length).split('/');
  const prefix = path.filter((part) => part !== '').join('/');
  return {
    endpoint: env.S3_ENDPOINT ?? `https://s3.${env.S3_REGION}.amazonaws.com`,
    bucket,
    prefix: prefix === '' ? '' : `${prefix}/`,
    region: env.S3_REGION,
    accessKeyId: required('S3_ACCESS_KEY_ID'),
    secretAccessKey: required('S3_SECRET_ACCESS_KEY'),
  };
};

/**
 * The configuration from environment variables and the text of causeway.yaml (null: none). Empty variables
 * count as unset. Throws ConfigError with one line that names the setting.
 */
export const readConfig = (env: Record<string, string | undefined>, yamlText: string | null): Config => {
  const present = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  );
  const fileWords = new Set(yamlText?.match(/\w+/g));
  // Keys of upstreams are in variables that the file names.
  const own = Object.fromEntries(
    Object.entries(present).filter(([name]) => !fileWords.has(name) || settingNames.includes(name)),
  );
  refuseMisspelt(own, settingNames);
  const unknownVariables = findUnknown(own, settingNames);
  const unknown = unknownVariables.find((name) => /^(?:X402|SEARCH|LEADS|S3)_/.test(name));
  if (unknown !== undefined)
    throw new ConfigError(`${unknown}: there is no such setting (docs/configuration.md)`);
  const parsed = environmentSchema.safeParse(present);
  if (!parsed.success) throw firstIssue(parsed.error, '');
  const settings = parsed.data;
  const file = readFileSettings(yamlText);
  const providers = readProviders(file.providers, present);
  const leads = readLeads({
    values: settings,
    section: file.leads,
    environment: present,
    maxLimit: settings.SEARCH_MAX_LIMIT,
  });
  const x402 = readX402(settings, file.x402);
  return {
    host: settings.HOST,
    port: settings.PORT,
    publicUrl: settings.PUBLIC_URL ?? null,
    dataDir: settings.DATA_DIR,
    mediaDir: settings.MEDIA_DIR ?? null,
    s3: readS3(settings),
    databaseUrl: settings.DATABASE_URL ?? null,
    redisUrl: settings.REDIS_URL ?? null,
    brand: settings.BRAND,
    stdioKey: settings.CAUSEWAY_API_KEY ?? null,
    unknownVariables,
    logLevel: settings.LOG_LEVEL,
    trustedProxyHops: settings.TRUSTED_PROXY_HOPS,
    allowedOrigins: settings.ALLOWED_ORIGINS,
    mediaRetentionMs: settings.MEDIA_RETENTION_DAYS * 86_400_000,
    maxBodyBytes: settings.MAX_BODY_BYTES,
    chatDeadlineMs: settings.CHAT_DEADLINE_MS,
    imageDeadlineMs: settings.IMAGE_DEADLINE_MS,
    drainMs: settings.DRAIN_MS,
    queuedJobsAtOnce: settings.QUEUED_JOBS_AT_ONCE,
    videoJobsAtOnce: settings.VIDEO_JOBS_AT_ONCE,
    responsesMaxBytes: settings.RESPONSES_MAX_BYTES,
    requestsPerMinute: settings.REQUESTS_PER_MINUTE,
    activeVideos: settings.ACTIVE_VIDEOS,
    videoStreams: settings.VIDEO_STREAMS,
    bodyMemoryBytes: settings.BODY_MEMORY_BYTES,
    acceptsWebhooks: settings.WEBHOOKS,
    allowsLoopbackUrls: settings.ALLOW_LOOPBACK_URLS,
    providers,
    models: readModels(file.models, providers),
    moderation: readModeration(file.moderation, providers),
    search: {
      isOn: leads.sources.length > 0 && x402.networks.length > 0,
      pricing: settings.SEARCH_PRICING,
      maxLimit: settings.SEARCH_MAX_LIMIT,
      chargeEmpty: settings.SEARCH_CHARGE_EMPTY,
      ratePerMinute: settings.SEARCH_RATE_PER_MINUTE,
      syntheticProfiles: settings.SYNTHETIC_PROFILES,
    },
    leads,
    x402,
  };
};

/** The brand as people read it. */
export const brandTitle = ({ brand }: Pick<Config, 'brand'>): string =>
  `${brand.charAt(0).toUpperCase()}${brand.slice(1)}`;
