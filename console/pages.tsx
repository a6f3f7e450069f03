import type { FunctionComponent } from 'preact';
import { Connections } from './customer/connections.tsx';
import { JobPage, Jobs } from './customer/jobs.tsx';
import { Keys } from './customer/keys.tsx';
import { Overview } from './customer/overview.tsx';
import { Playground } from './customer/playground.tsx';
import { Purchases } from './customer/purchases.tsx';
import { ReceiptPage } from './customer/receipt.tsx';
import { StatementPage } from './customer/statement.tsx';
import { TopUp } from './customer/top-up.tsx';
import { Transactions } from './customer/transactions.tsx';
import { Webhooks } from './customer/webhooks.tsx';
import { AccountPage } from './operator/account.tsx';
import { Accounts } from './operator/accounts.tsx';
import { Audit } from './operator/audit.tsx';
import { Changes } from './operator/changes.tsx';
import { Gateway } from './operator/gateway.tsx';
import { OperatorJobPage, OperatorJobs } from './operator/jobs.tsx';
import { PaymentPage, Payments } from './operator/payments.tsx';
import { Profiles } from './operator/profiles.tsx';
import { Revenue } from './operator/revenue.tsx';
import { ServerTools, Tools } from './operator/tools.tsx';

export type Area = 'customer' | 'operator';

export interface Page {
  area: Area;
  /** Below /console. */
  path: string;
  /** Absent: the navigation leaves it out. */
  title?: string;
  /** True: its path goes on with the id of one thing. */
  hasId?: boolean;
  /** True: nothing for an operator who may only read. */
  changes?: boolean;
  /** True: the pages below its path are not its own. */
  isWhole?: boolean;
  View: FunctionComponent<{ id: string }>;
}

/** All pages of the console, in the order of the navigation. */
export const pages: readonly Page[] = [
  { area: 'customer', path: '', title: 'Overview', isWhole: true, View: Overview },
  { area: 'customer', path: 'playground', title: 'Playground', View: Playground },
  { area: 'customer', path: 'jobs', title: 'Jobs', View: Jobs },
  { area: 'customer', path: 'jobs', hasId: true, View: JobPage },
  { area: 'customer', path: 'transactions', title: 'Transactions', View: Transactions },
  { area: 'customer', path: 'statement', title: 'Statement', View: StatementPage },
  { area: 'customer', path: 'top-up', title: 'Top-up', View: TopUp },
  { area: 'customer', path: 'purchases', title: 'Purchases', View: Purchases },
  { area: 'customer', path: 'receipts', hasId: true, View: ReceiptPage },
  { area: 'customer', path: 'keys', title: 'Keys', View: Keys },
  { area: 'customer', path: 'webhooks', title: 'Webhooks', View: Webhooks },
  { area: 'customer', path: 'connections', title: 'Connections', View: Connections },
  { area: 'operator', path: 'operator', title: 'Accounts', isWhole: true, View: Accounts },
  { area: 'operator', path: 'operator/accounts', hasId: true, View: AccountPage },
  { area: 'operator', path: 'operator/jobs', title: 'Jobs', View: OperatorJobs },
  { area: 'operator', path: 'operator/jobs', hasId: true, View: OperatorJobPage },
  { area: 'operator', path: 'operator/payments', title: 'Payments', View: Payments },
  { area: 'operator', path: 'operator/payments', hasId: true, View: PaymentPage },
  { area: 'operator', path: 'operator/revenue', title: 'Revenue', View: Revenue },
  { area: 'operator', path: 'operator/profiles', title: 'Profiles', View: Profiles },
  { area: 'operator', path: 'operator/tools', title: 'Tools', View: Tools },
  { area: 'operator', path: 'operator/tools', hasId: true, View: ServerTools },
  { area: 'operator', path: 'operator/changes', title: 'Changes', changes: true, View: Changes },
  { area: 'operator', path: 'operator/changes', hasId: true, View: Changes },
  { area: 'operator', path: 'operator/audit', title: 'Audit log', View: Audit },
  { area: 'operator', path: 'operator/gateway', title: 'Gateway', View: Gateway },
];
