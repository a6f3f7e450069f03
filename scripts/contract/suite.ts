import { randomUUID } from 'node:crypto';
import type { CallbackReceiver } from './callback-receiver.ts';
import type { Client } from './client.ts';
import { Skipped } from './outcomes.ts';
import type { Served } from './probe-services.ts';
import type { JsonRecord } from './shapes.ts';
import { fromNano, toNano, tokenCharge } from './usd.ts';

export interface Sku {
  id: string;
  pricing: JsonRecord;
}

export interface VideoSku extends Sku {
  /** The cheapest resolution of the SKU. */
  resolution: string;
  /** Per second of output. */
  priceUsd: string;
  withVideoPriceUsd: string | null;
}

/** The options of a run; see `--help` of the script. */
export interface SuiteSettings {
  baseUrl: string;
  apiKey: string;
  otherKey: string | null;
  poorKey: string | null;
  sandbox: boolean;
  video: boolean;
  /** How long the server lets a call wait for its result, in seconds; null if unknown or too long for a test. */
  deadlineSeconds: number | null;
  rateLimit: boolean;
  /** The longest wait for a job. */
  jobTimeoutMs: number;
}

/** A precondition of a check: a service, a SKU of a kind, or an option of the command line. */
export type Need =
  | 'image'
  | 'chat'
  | 'video'
  | 'videos'
  | 'search'
  | 'mcp'
  | 'sandbox'
  | 'other_key'
  | 'poor_key'
  | 'webhook'
  | 'deadline'
  | 'rate_limit';

/** The tools of a check. */
export interface Suite extends Client {
  settings: SuiteSettings;
  serves: Served;
  /** Every entry of GET /v1/models. */
  models: readonly JsonRecord[];
  image: Sku | null;
  chat: Sku | null;
  video: VideoSku | null;
  receiver: CallbackReceiver | null;
  /** Reserves money before it is spent. Throws Skipped if that exceeds the limit. */
  spend(nano: bigint): void;
  /** Makes a value once for all checks that use it. */
  once<T>(name: string, make: () => Promise<T>): Promise<T>;
  /** Runs work that has a video in progress. An account may have only a few at once. */
  withVideoSlot<T>(work: () => Promise<T>): Promise<T>;
  /** Returns why a check with these needs cannot run, or null. */
  unmet(needs: readonly Need[]): string | null;
  newKey(): string;
}

const videosAtOnce = 2;

export interface SuiteOptions {
  client: Client;
  settings: SuiteSettings;
  serves: Served;
  models: readonly JsonRecord[];
  receiver: CallbackReceiver | null;
  allowedNano: bigint;
}

export const createSuite = ({
  client,
  settings,
  serves,
  models,
  receiver,
  allowedNano,
}: SuiteOptions): Suite => {
  const made = new Map<string, Promise<unknown>>();
  const image = cheapest(models, 'image');
  const chat = cheapest(models, 'chat');
  const video = cheapestVideo(models);
  let left = allowedNano;

  const missing: Record<Need, string | null> = {
    image: image === null ? 'the account has no image SKU priced by call' : null,
    chat: chat === null ? 'the account has no chat SKU' : null,
    video:
      video === null
        ? 'the account has no video SKU'
        : settings.video
          ? null
          : 'videos cost more: give --video',
    videos: serves.videos ? null : 'the server has no /v1/videos: it answers 404',
    search: serves.search ? null : 'the server has no /v1/search: it answers 404',
    mcp: serves.mcp ? null : 'the server has no /mcp: it answers 404',
    sandbox: settings.sandbox ? null : 'needs sandbox models: give --sandbox',
    other_key: settings.otherKey === null ? 'needs a second account: give --other-key' : null,
    poor_key: settings.poorKey === null ? 'needs an account without money: give --poor-key' : null,
    webhook: receiver === null ? 'needs a public address: give --webhook-listen and --webhook-url' : null,
    deadline:
      settings.deadlineSeconds === null ? 'needs a server with a short deadline: give --deadline' : null,
    rate_limit: settings.rateLimit ? null : 'uses up the rate limit of this address: give --rate-limit',
  };

  return {
    ...client,
    settings,
    serves,
    models,
    image,
    chat,
    video,
    receiver,
    spend: (nano) => {
      if (nano > left)
        throw new Skipped(
          `costs up to $${fromNano(nano)}, but only $${fromNano(left)} of --allow-spend is left`,
        );
      left -= nano;
    },
    once: async <T>(name: string, make: () => Promise<T>): Promise<T> => {
      const known = made.get(name) ?? make();
      made.set(name, known);
      return (await known) as T;
    },
    withVideoSlot: createSlots(videosAtOnce),
    unmet: (needs) => needs.map((need) => missing[need]).find((reason) => reason !== null) ?? null,
    newKey: () => `contract-${randomUUID()}`,
  };
};

/** Runs at most `most` works at once. The others wait. */
const createSlots = (most: number): Suite['withVideoSlot'] => {
  const waiting: (() => void)[] = [];
  let taken = 0;
  return async (work) => {
    if (taken >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    else taken += 1;
    try {
      return await work();
    } finally {
      // Hands the slot on without freeing it, so that no other caller can take it in between.
      const next = waiting.shift();
      if (next === undefined) taken -= 1;
      else next();
    }
  };
};

const pricingOf = (model: JsonRecord): JsonRecord => (model['pricing'] ?? {}) as JsonRecord;

const cheapest = (models: readonly JsonRecord[], kind: string): Sku | null => {
  const [first] = models
    .filter((model) => model['kind'] === kind)
    .map((model) => ({ id: String(model['id']), pricing: pricingOf(model) }))
    .filter(({ pricing }) => kind === 'chat' || pricing['unit'] === 'call')
    .sort((a, b) => (typicalPrice(a.pricing) < typicalPrice(b.pricing) ? -1 : 1));
  return first ?? null;
};

const typicalPrice = (pricing: JsonRecord): bigint =>
  pricing['unit'] === 'token' ? toNano(pricing['output_usd_per_1m']) / 1000n : toNano(pricing['price_usd']);

const cheapestVideo = (models: readonly JsonRecord[]): VideoSku | null => {
  const [first] = models
    .filter((model) => model['kind'] === 'video')
    .flatMap((model) => {
      const pricing = pricingOf(model);
      const rates = Array.isArray(pricing['rates']) ? (pricing['rates'] as JsonRecord[]) : [];
      return rates.map((rate) => ({
        id: String(model['id']),
        pricing,
        resolution: String(rate['resolution']),
        priceUsd: String(rate['price_usd']),
        withVideoPriceUsd:
          typeof rate['with_video_price_usd'] === 'string' ? rate['with_video_price_usd'] : null,
      }));
    })
    .sort((a, b) => (toNano(a.priceUsd) < toNano(b.priceUsd) ? -1 : 1));
  return first ?? null;
};

/** Returns the most that a text request of some hundred bytes may cost with this output limit, in nano-dollars. */
export const textBound = ({ pricing }: Sku, outputTokens: number): bigint =>
  pricing['unit'] === 'token'
    ? tokenCharge(
        { input: 2_000, output: outputTokens },
        { input: String(pricing['input_usd_per_1m']), output: String(pricing['output_usd_per_1m']) },
      )
    : toNano(pricing['price_usd']);
