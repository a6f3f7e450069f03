import {
  getAccountTerms,
  setAccountTerms,
  approveAccount,
  createAccount,
  getAccount,
  listAccounts,
  suspendAccount,
} from './accounts.ts';
import { listAudit } from './operators.ts';
import { getSettings, listProviders, reloadSettings } from './gateway.ts';
import { limitConnection, listConnections, revokeConnection } from './connections.ts';
import { changeKey, issueKey, listKeys, revokeKey } from './keys.ts';
import { getJob, listJobs } from './jobs.ts';
import { importLeads, forgetPeople, getLeadStats, restorePeople } from './leads.ts';
import { adjustAccount, checkLedger, creditAccount, getUsage, listTransactions, refundJob } from './money.ts';
import { listModelHistory, listModels, modelRevenue, setModel, unsetModel } from './models.ts';
import { callTool } from './call-tool.ts';
import { acceptTools, diffTools, listTools, showTool, toolRevenue } from './tools.ts';
import type { Verb } from './verb.ts';
import { listCardPayments } from './payments/card-payments.ts';
import { listBought } from './payments/bought-payments.ts';
import { getPayment, listPayments, sumPayments } from './payments/payments.ts';
import { reconcilePayment, reconcilePayments } from './payments/reconcile.ts';
import { cancelRefund, listRefunds, previewRefund, sendRefund } from './payments/refunds.ts';
import { getWebhook, listWebhooks, redeliverWebhook, rotateWebhookSecret, testAlert } from './webhooks.ts';

/** The verbs by the tags of their description, in its order and in that of the help of the command line. */
const byGroup = {
  accounts: [
    listAccounts,
    getAccount,
    createAccount,
    approveAccount,
    suspendAccount,
    getAccountTerms,
    setAccountTerms,
  ],
  keys: [listKeys, issueKey, changeKey, revokeKey],
  connections: [listConnections, limitConnection, revokeConnection],
  money: [creditAccount, adjustAccount, refundJob, listTransactions, getUsage, checkLedger],
  jobs: [listJobs, getJob],
  payments: [
    listPayments,
    getPayment,
    sumPayments,
    listBought,
    listCardPayments,
    reconcilePayments,
    reconcilePayment,
    listRefunds,
    previewRefund,
    sendRefund,
    cancelRefund,
  ],
  leads: [getLeadStats, importLeads, forgetPeople, restorePeople],
  models: [listModels, setModel, unsetModel, listModelHistory, modelRevenue],
  tools: [listTools, toolRevenue, showTool, diffTools, acceptTools, callTool],
  gateway: [listProviders, getSettings, reloadSettings],
  webhooks: [listWebhooks, getWebhook, redeliverWebhook, testAlert, rotateWebhookSecret],
  audit: [listAudit],
} satisfies Readonly<Record<string, readonly Verb[]>>;

export type VerbGroup = keyof typeof byGroup;

/** All operations below /admin/v1. */
export const verbs = Object.entries<readonly Verb[]>(byGroup).flatMap(([group, list]) =>
  list.map((verb) => ({ ...verb, group })),
);
