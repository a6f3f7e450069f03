import type { WebhookSettings } from '../jobs/webhooks/webhook-settings.ts';
import type { WalletConfig } from '../accounts/catalog/wallet-settings.ts';
import type { SearchConfig } from './search/search-settings.ts';
import { createChatCompletion } from './chat/create-chat-completion.ts';
import { createImage } from './images/create-image.ts';
import { createResponse } from './responses/create-response.ts';
import { createVideo } from './videos/create-video.ts';
import { endAutoTopUp, getAutoTopUp, setAutoTopUp } from './account/auto-top-up.ts';
import { createCheckout } from './account/create-checkout.ts';
import { getBalance } from './account/get-balance.ts';
import { getJob } from './jobs/get-job.ts';
import { getAlerts, setAlerts } from './account/alerts.ts';
import { getReceipt } from './account/get-receipt.ts';
import { getResponse } from './responses/get-response.ts';
import { getUsage } from './account/get-usage.ts';
import { getVideo } from './videos/get-video.ts';
import { getVideoContent } from './videos/get-video-content.ts';
import { listJobs } from './jobs/list-jobs.ts';
import { endConnection, listConnections, updateConnection } from './keys/connections.ts';
import { createKey } from './keys/create-key.ts';
import { createListPurchases } from './account/list-purchases.ts';
import { getStatement } from './account/get-statement.ts';
import { listTransactions } from './account/list-transactions.ts';
import type { Operation } from './definition.ts';
import { soldToWallets } from './per-call-sale.ts';
import { getSearchFacets } from './search/get-search-facets.ts';
import { createSearchLeads } from './search/search-leads.ts';
import { signInWithWallet } from './account/sign-in.ts';
import { callMountedTool } from './tools/call-mounted-tool.ts';
import { listMountedTools } from './tools/list-mounted-tools.ts';
import { endToolSignIn, setToolSecrets } from './tools/tool-secrets.ts';
import { topUp } from './account/top-up.ts';
import { whoami } from './account/whoami.ts';
import { getKey, listKeys, updateKey, revokeKey } from './keys/own-keys.ts';
import {
  listDeliveries,
  redeliverWebhook,
  rotateWebhookSecret,
  testWebhook,
} from './webhooks/own-webhooks.ts';
import { listModels, getModel } from './models/models.ts';

/** Returns the operations of a gateway with these settings, in the order of tool lists and documents. */
export const createOperations = (
  search: SearchConfig,
  webhooks: Pick<WebhookSettings, 'takesVideoWebhooks'> = { takesVideoWebhooks: false },
  wallets: Pick<WalletConfig, 'isOn'> = { isOn: false },
  { mounts, cards }: { mounts: readonly unknown[]; cards: object | null } = { mounts: [], cards: null },
): readonly Operation[] => {
  const bySubject: (readonly Operation[])[] = [
    search.isOn ? [createSearchLeads(search)] : [],
    [listModels, getModel],
    [getBalance, whoami, getUsage, listTransactions, getStatement],
    [createChatCompletion, createResponse, getResponse, createImage],
    [createVideo(webhooks), getVideo, getVideoContent],
    [getJob, listJobs],
    [createKey, listKeys, getKey, updateKey, revokeKey],
    [listConnections, updateConnection, endConnection],
    [listDeliveries, redeliverWebhook, testWebhook, rotateWebhookSecret, getAlerts, setAlerts],
    search.isOn ? [getSearchFacets] : [],
    mounts.length > 0 ? [listMountedTools, callMountedTool, setToolSecrets, endToolSignIn] : [],
    cards === null ? [] : [createCheckout, getAutoTopUp, setAutoTopUp, endAutoTopUp],
  ];
  const operations = bySubject.flat();
  if (!wallets.isOn) return [...operations, { ...getReceipt, tool: null }];
  const sold = [...operations.map(soldToWallets), topUp, signInWithWallet];
  return [...sold, getReceipt, createListPurchases(sold)];
};

/** Returns the operations that these settings switch off. */
export const createSwitchedOff = (search: SearchConfig): readonly Operation[] =>
  search.isOn ? [] : [createSearchLeads(search)];
