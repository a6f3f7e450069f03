import { readModels, readModeration } from '../accounts/catalog/model-settings.ts';
import { readWalletSettings } from '../accounts/catalog/wallet-settings.ts';
import { refuseUnusedS3 } from '../http/s3/s3-settings.ts';
import { readJobSettings } from '../jobs/job-settings.ts';
import { ConfigError } from '../kit/errors.ts';
import type { Json } from '../kit/json.ts';
import { readFormerPlace, readLeads } from '../leads/leads-settings.ts';
import { readLimitSettings } from '../limits/limit-settings.ts';
import { readMediaSettings } from '../media/media-settings.ts';
import { readSearchSettings } from '../operations/search/search-settings.ts';
import { readMounts } from '../mounts/mount-settings.ts';
import { readCardSettings } from '../payments/cards/card-settings.ts';
import { readX402Settings } from '../payments/read-x402-settings.ts';
import { readProviders } from '../providers/index.ts';
import { readStoreSettings } from '../store/store-settings.ts';
import { readTelemetrySettings } from '../telemetry/telemetry-settings.ts';
import { readWebhookSettings } from '../jobs/webhooks/webhook-settings.ts';
import { keyFileVariables } from './key-files.ts';
import { parseYaml, readFileSettings } from './file-settings.ts';
import { readServerSettings } from './server-settings.ts';
import { findUnknown, readVariables, type Environment } from './read-variables.ts';
import type { SettingsInForce, SettingTexts } from './settings-in-force.ts';
import { allVariables } from './variables.ts';

/** All settings, checked. Made once at start; see docs/configuration.md. */
export type Config = ReturnType<typeof readConfig>;

/**
 * Reads variables and the text of causeway.yaml (null: no file). `given`: the environment before secrets were read from
 * files, and where its variables were set. Throws ConfigError with one line that names the setting.
 */
export const readConfig = (
  environment: Environment,
  yamlText: string | null,
  given: Omit<SettingTexts, 'file'> & { envFile?: string | undefined } = {
    environment,
    sourceOf: () => 'environment',
  },
) => {
  // Keys of upstreams are in variables that the file names.
  const fileWords = new Set(yamlText?.match(/\w+/g));
  const own = Object.fromEntries(
    Object.entries(environment).filter(([name]) => !fileWords.has(name) || name in allVariables),
  );
  const unknownVariables = findUnknown(own, Object.keys(allVariables));
  const values = readVariables(allVariables, own);
  const unknown = unknownVariables.find((name) => /^(?:X402|SEARCH|LEADS|S3)_/.test(name));
  if (unknown !== undefined)
    throw new ConfigError(`${unknown}: there is no such setting (docs/configuration.md)`);
  refuseUnusedS3(values, [values.MEDIA_URL, values.LEADS_URL]);
  const file = readFileSettings(yamlText);
  const providers = readProviders(file.providers, environment);
  const leads = readLeads({ values, section: file.leads, environment, maxLimit: values.SEARCH_MAX_LIMIT });
  const x402 = readX402Settings(values, file.x402);
  const models = readModels(file.models, providers);
  const texts: SettingTexts = { ...given, file: yamlText === null ? null : (parseYaml(yamlText) as Json) };
  const hasNetworks = x402.networks.length > 0;
  const isSearchOn = leads.sources.length > 0 && hasNetworks;
  const wallets = readWalletSettings(values, { terms: file.wallet_terms, models, hasNetworks });
  return {
    ...readServerSettings(values),
    ...readStoreSettings(values),
    ...readMediaSettings(values),
    ...readLimitSettings(values),
    ...readJobSettings(values),
    ...readWebhookSettings(values),
    telemetry: readTelemetrySettings(values),
    search: readSearchSettings(values, {
      isOn: isSearchOn,
      costsMoney: leads.sources.some(({ costsMoney }) => costsMoney),
    }),
    providers,
    models,
    wallets,
    /** The route that looks at video requests with `nsfw_check`; null: their upstream, where that can. */
    moderation: readModeration(file.moderation, providers),
    leads,
    formerPlace: readFormerPlace(values),
    x402: {
      ...x402,
      /** True: something is sold by payments on its networks. */
      isOn: isSearchOn || wallets.isOn,
    },
    /** Null: nothing is sold by card. */
    cards: readCardSettings(values),
    maxToolProcesses: values.TOOLS_PROCESSES_MAX,
    toolSecretKeys: values.TOOLS_SECRETS_KEY?.split(',') ?? [],
    mounts: readMounts(file.mcp_servers, {
      environment,
      hidden: [
        ...[values.DATA_DIR, values.CAUSEWAY_CONFIG, values.MEDIA_DIR, given.envFile],
        ...Object.keys(keyFileVariables).map((name) => given.environment[name]),
      ].flatMap((path) => path || []),
      hasSecretsKey: values.TOOLS_SECRETS_KEY !== undefined,
    }),
    /** Variables that look like settings of ours and are none. */
    unknownVariables,
    /** As they were written, secrets included. */
    texts,
    /** All settings for the operator, without secrets. */
    describe: async (): Promise<SettingsInForce> => {
      const { describeSettings } = await import('./settings-in-force.ts');
      return describeSettings(texts);
    },
  };
};
