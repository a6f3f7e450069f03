import type { z } from 'zod';
import type { PayFor } from '../http/pay-settings.ts';
import type { Log } from '../kit/log.ts';
import type { LeadSource } from './lead-source.ts';
import type { ForgottenPeople } from './forgotten-people.ts';

/** A configured lead source. Its definition knows the other members. */
export interface LeadSourceConfig {
  kind: string;
  timeoutMs: number;
}

export interface LeadSourceOrigin<Values extends object = object> {
  /** The checked values of the source's variables, and of those of the store. */
  values: Values;
  /** The environment for `${NAME}` in causeway.yaml. */
  environment: Record<string, string | undefined>;
  /** The longest search in all sources together. */
  totalMs: number;
  shareMs: number;
  maxLimit: number;
}

export interface LeadSourceContext {
  /** The folder of the imported profiles, or of fictional ones. */
  folder: string;
  /** The address of PostgreSQL itself, which then has the imported profiles; null: they are in the folder. */
  databaseUrl: string | null;
  people: ForgottenPeople;
  /** Erases forgotten people who are still among the imported profiles. */
  sweep: () => Promise<void>;
  /** Whether no other source is configured. */
  isAlone: boolean;
  /** How many fictional profiles are generated where nothing was imported. */
  syntheticProfiles: number;
  log: Log;
  /** Pays for answers. Absent: nothing is paid. */
  payFor?: PayFor | undefined;
}

/** A lead source: everything that the gateway needs to know of it. */
export interface LeadSourceDefinition<Config extends LeadSourceConfig = LeadSourceConfig> {
  kind: Config['kind'];
  /** One line for docs/configuration.md. */
  text: string;
  /** Its environment variables, each with a description for docs/configuration.md. */
  variables: z.ZodRawShape;
  /** The section `leads.<kind>` of causeway.yaml, each key with a description; null: there is none. */
  section: z.ZodObject | null;
  /** Whether the source, as the only one, ends its searches in time by itself and says why it cannot answer. */
  guardsItself?: true;
  /** Makes the configuration from checked settings. Throws ConfigError with one line that names the setting. */
  read(section: object, origin: LeadSourceOrigin): Config;
  /** Loads and opens the source. A source that cannot answer yet is opened, and not ready. */
  open(config: Config, context: LeadSourceContext): Promise<LeadSource>;
}
