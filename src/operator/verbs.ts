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

const bySubject: readonly (readonly Verb[])[] = [
  [listAccounts, getAccount, createAccount, approveAccount, suspendAccount, getAccountTerms, setAccountTerms],
  [listKeys, issueKey, changeKey, revokeKey],
  [listConnections, limitConnection, revokeConnection],
  [creditAccount, adjustAccount, refundJob, listTransactions, getUsage, checkLedger],
  [listJobs, getJob],
  [listPayments, getPayment, sumPayments, listBought, listCardPayments, reconcilePayments, reconcilePayment],
  [listRefunds, previewRefund, sendRefund, cancelRefund],
  [getLeadStats, importLeads, forgetPeople, restorePeople],
  [listModels, setModel, unsetModel, listModelHistory, modelRevenue],
  [listTools, toolRevenue, showTool, diffTools, acceptTools, callTool],
  [listProviders, getSettings, reloadSettings],
  [listWebhooks, getWebhook, redeliverWebhook, testAlert, rotateWebhookSecret],
  [listAudit],
];

/** All operations below /admin/v1, in the order of their description and of the help of the command line. */
export const verbs: readonly Verb[] = bySubject.flat();
