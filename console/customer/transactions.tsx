import type { Transaction } from '../answers.ts';
import { transactionColumns } from '../parts/history.tsx';
import { Title } from '../parts/parts.tsx';
import { CustomerTable } from '../parts/table.tsx';
import { Link } from '../router.tsx';

export const Transactions = () => (
  <>
    <Title aside={<Link path="statement">Statement of a month</Link>}>Transactions</Title>
    <CustomerTable<Transaction>
      name="Transactions"
      path="v1/transactions"
      columns={transactionColumns('', ({ id }) => (
        <Link path={`receipts/${id}`}>Receipt</Link>
      ))}
      keyOf={({ id }) => id}
      none="Nothing has changed the balance yet."
    />
  </>
);
