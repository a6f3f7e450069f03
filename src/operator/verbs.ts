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
import type { CommandGroup, Verb } from './verb.ts';
import { listCardPayments } from './payments/card-payments.ts';
import { listBought } from './payments/bought-payments.ts';
import { getPayment, listPayments, sumPayments } from './payments/payments.ts';
import { reconcilePayment, reconcilePayments } from './payments/reconcile.ts';
import { cancelRefund, listRefunds, previewRefund, sendRefund } from './payments/refunds.ts';
import { getWebhook, listWebhooks, redeliverWebhook, rotateWebhookSecret, testAlert } from './webhooks.ts';

interface Subject extends Partial<Omit<CommandGroup, 'words'>> {
  /** Describes its tag in the description of the API. */
  text: string;
  verbs: readonly Verb[];
}

/** By their tags, which are the words of their commands, in the order of the description and of the help of the command line. */
const subjects: Readonly<Record<string, Subject>> = {
  accounts: {
    text: 'Accounts of customers and their terms.',
    alias: 'account',
    summary: 'create, approve, suspend and list accounts; show their money; set their terms',
    verbs: [
      listAccounts,
      getAccount,
      createAccount,
      approveAccount,
      suspendAccount,
      getAccountTerms,
      setAccountTerms,
    ],
  },
  keys: {
    text: 'API keys of customers and their limits.',
    summary: 'issue, limit, revoke and list API keys',
    verbs: [listKeys, issueKey, changeKey, revokeKey],
  },
  connections: {
    text: 'Assistants that use an account, and their limits.',
    summary: 'list, limit and revoke connections of assistants',
    verbs: [listConnections, limitConnection, revokeConnection],
  },
  money: {
    text: 'Balances and the ledger.',
    verbs: [creditAccount, adjustAccount, refundJob, listTransactions, getUsage, checkLedger],
  },
  jobs: {
    text: 'What customers had made, without its contents.',
    summary: 'list and show the jobs of all accounts',
    verbs: [listJobs, getJob],
  },
  payments: {
    text: 'x402 payments and their refunds.',
    summary: 'list, show, sum up, reconcile and refund x402 payments',
    more: 'A payment is named by its identity, its transaction, or the beginning of either.',
    verbs: [
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
  },
  leads: {
    text: 'The profiles of the search.',
    summary: 'import, count, export and delete the profiles of the search',
    more: '"leads delete" forgets people on request. Running gateways see each change within seconds, and always whole.',
    verbs: [getLeadStats, importLeads, forgetPeople, restorePeople],
  },
  models: {
    text: 'SKUs and their prices, which operators change while the gateway runs.',
    summary: 'list models, change their prices, switch them off and on',
    verbs: [listModels, setModel, unsetModel, listModelHistory, modelRevenue],
  },
  tools: {
    text: 'Tools of mounted MCP servers, and what of them is accepted.',
    summary: 'list, show, compare, accept and call the tools of mounted MCP servers',
    more:
      'The servers stand in "mcp_servers". Callers see a tool when it is accepted, and as long as it stays as it was ' +
      'then. Running gateways see each change within seconds.',
    verbs: [listTools, toolRevenue, showTool, diffTools, acceptTools, callTool],
  },
  gateway: {
    text: 'The running gateway: its providers and settings.',
    verbs: [listProviders, getSettings, reloadSettings],
  },
  webhooks: {
    text: 'Announcements of the ends of jobs.',
    summary: 'list, show and redeliver webhooks; rotate signing secrets',
    more:
      'Webhooks announce the ends of jobs. One is pending until the receiver acknowledges it (delivered), answers 410 ' +
      '(stopped), or fails at every attempt (exhausted).',
    verbs: [listWebhooks, getWebhook, redeliverWebhook, testAlert, rotateWebhookSecret],
  },
  audit: {
    text: 'All changes by operators, and refused calls.',
    summary: 'show who changed what',
    verbs: [listAudit],
  },
};

export const tags = Object.entries(subjects).map(([name, { text }]) => ({ name, description: text }));

/** Those that have commands below their word. */
export const commandGroups = Object.entries(subjects).flatMap(
  ([words, { summary, alias, more }]): CommandGroup[] =>
    summary === undefined ? [] : [{ words, summary, alias, more }],
);

/** All operations below /admin/v1. */
export const verbs = Object.entries(subjects).flatMap(([group, subject]) =>
  subject.verbs.map((verb) => ({ ...verb, group })),
);
