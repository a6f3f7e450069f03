import type { z } from 'zod';
import type { Outbound } from '../http/outbound.ts';
import type { PayFor } from '../http/pay-settings.ts';
import type { Clock } from '../kit/clock.ts';
import type { Log } from '../kit/log.ts';
import type { ImageProvider } from './image/image-provider.ts';
import type { TextProvider } from './text/text-provider.ts';
import type { TokenCounter } from './tokens/token-counter.ts';
import type { MovMaker } from './video/to-mov.ts';
import type { VideoProvider } from './video/video-provider.ts';

/** The kinds of SKUs. A chat SKU serves chat completions and responses. */
export const modelKinds = ['chat', 'image', 'video'] as const;
export type ModelKind = (typeof modelKinds)[number];

/** A route of a SKU, or of the moderation. */
export interface RouteConfig {
  /** A name in `providers`. */
  provider: string;
  /** The upstream's name of the model. */
  model: string;
}

/** A configured provider. Its definition knows the other members. */
export interface ProviderConfig {
  type: string;
}

/** A provider that is open, with a member for each service in its definition's `serves`. */
export interface Provider {
  chat?: TextProvider;
  image?: ImageProvider;
  video?: VideoProvider;
  moderation?: (model: string) => Moderator;
  close(): Promise<unknown>;
}

export interface ProviderContext {
  /** The provider's name in the configuration. */
  name: string;
  clock: Clock;
  log: Log;
  /** Fetches results from addresses that upstreams name. */
  outbound: Pick<Outbound, 'download'>;
  counter: TokenCounter;
  movMaker: MovMaker;
  /** Returns headers that make the upstream's spans children of ours. Absent: there are no traces. */
  traceHeaders?: (() => Record<string, string>) | undefined;
  /** Pays for answers. Absent: nothing is paid. */
  payFor?: PayFor | undefined;
  /** The pause between two events of the sandbox's streams. */
  sandboxPieceDelayMs?: number;
}

export interface SettingsOrigin {
  /** The section in causeway.yaml, for errors, such as `providers.local`. */
  setting: string;
  environment: Record<string, string | undefined>;
}

/** A type of provider: everything that the gateway needs to know of it. */
export interface ProviderDefinition<Config extends ProviderConfig = ProviderConfig> {
  type: string;
  /** One line for docs/configuration.md. */
  text: string;
  /** The keys beside `type`, each with a description for docs/configuration.md. */
  settings: z.ZodObject;
  serves: readonly (ModelKind | 'moderation')[];
  /** Makes the configuration from checked settings. Throws ConfigError with one line that names the setting. */
  read(settings: object, origin: SettingsOrigin): Omit<Config, 'type'>;
  /** Returns an address that answers a GET at no charge; it is asked at start. Absent: nothing is asked. */
  check?(config: Config): { url: string; apiKey: string | null };
  /** Returns the names of the models that the service lists. Throws ProviderError. Absent: it has no such list. */
  listModels?(config: Config, signal: AbortSignal): Promise<string[]>;
  /** Loads the adapter. Connections, threads and heavy packages come with the first use. */
  create(config: Config, context: ProviderContext): Promise<Provider>;
}

export interface ModerationInput {
  text: string;
  /** By the bytes' own magic number: `image/png`, `image/jpeg` or `image/webp`. */
  images: readonly { contentType: string; load(signal: AbortSignal): Promise<Uint8Array> }[];
}

/** Checks requests before they are carried out, in addition to the refusals of models. */
export interface Moderator {
  /**
   * Resolves when nothing is flagged. Throws ProviderError with `content_policy_violation` for a flagged request, and with
   * another code when the check failed. Throws the signal's reason when it aborts.
   */
  check(input: ModerationInput, options: { signal: AbortSignal }): Promise<void>;
}
